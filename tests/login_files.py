"""Login files as mysql_config_editor writes them."""

import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

KEY = bytes(range(65, 85))


def login_file_bytes(text: str) -> bytes:
    """A login file with this text: zeros, the key, and each line encrypted, behind its length."""
    folded = bytearray(16)
    for place, byte in enumerate(KEY):
        folded[place % 16] ^= byte
    cipher = Cipher(algorithms.AES(bytes(folded)), modes.ECB())  # noqa: S305
    found = bytes(4) + KEY
    for line in text.splitlines(keepends=True):
        plain = line.encode()
        padding = 16 - len(plain) % 16
        encryptor = cipher.encryptor()
        data = encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()
        found += struct.pack("<i", len(data)) + data
    return found
