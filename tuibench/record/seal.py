"""The seal of a record: shows that this account has written it, and nobody has changed it since.

The seal is a keyed digest. Its key is in the state folder, which only the account can read, so a record that
comes from somebody else has no seal that fits.
"""

import hashlib
import hmac
import os
import secrets

from tuibench.base import files, paths

KEY_BYTES = 32


def seal_of(data: bytes) -> str:
    """The seal of these bytes. Raises OSError if the account's key can neither be read nor made."""
    return hmac.new(_key(), data, hashlib.sha256).hexdigest()


def fits(seal: str, data: bytes) -> bool:
    """True if this account has sealed these bytes. Raises OSError as `seal_of`."""
    return hmac.compare_digest(seal.strip().encode(), seal_of(data).encode())


def _key() -> bytes:
    path = paths.ensure_private(paths.state_dir()) / "records.key"
    if not path.exists():
        # Two processes may do this at the same time; the first link stays.
        made = path.with_name(f"{path.name}.{os.getpid()}")
        with files.private(made, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return files.read_bytes(path)
