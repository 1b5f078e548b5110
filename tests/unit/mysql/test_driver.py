"""The driver is imported without what a login needs, which is there when a login needs it."""

import subprocess
import sys

from tests.paths import ROOT

IMPORT = "import sys; import tuibench.mysql.connection; from asyncmy import auth; "


def printed(code: str) -> str:
    command = [sys.executable, "-c", IMPORT + code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def test_no_process_pays_for_what_only_a_login_needs() -> None:
    loaded = set(printed("print(*sys.modules)").split())
    assert "asyncmy.connection" in loaded
    assert not loaded & {
        "asyncmy.version",
        "cryptography.hazmat.primitives.hashes",
        "cryptography.hazmat.primitives.serialization",
        "email",
        "importlib.metadata",
        "zipfile",
    }


def test_a_login_has_it() -> None:
    """What the driver does to encrypt a password for a server without TLS."""
    code = (
        "from cryptography.hazmat.primitives.asymmetric import rsa; "
        "from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat; "
        "key = rsa.generate_private_key(65537, 2048).public_key(); "
        "pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo); "
        "print(len(auth.sha2_rsa_encrypt(b'secret', b'x' * 20, pem)))"
    )
    assert printed(code) == "256"


def test_others_import_the_modules_themselves() -> None:
    code = (
        "from cryptography.hazmat.primitives import hashes; "
        "import asyncmy.version as version; print(version.__file__, hashes.__file__)"
    )
    assert printed(code).count(".py") == 2
