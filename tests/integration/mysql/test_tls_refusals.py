"""What --ssl-mode demands of a server's certificate, from the command line: message, remedy, exit code."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.support import certificates
from tests.integration.support.certificates import Files
from tests.integration.support.commands import Finished, tuibench
from tests.integration.support.sbtest import over_tcp
from tests.integration.support.shared import Starter, Templates
from tuibench.base.errors import ExitCode
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

pytestmark = pytest.mark.one_flavour

VERIFYING = ("verify-ca", "verify-identity")
UNREACHABLE = int(ExitCode.SERVER_UNAVAILABLE)
NAME, ADDRESS = "localhost", "127.0.0.1"


class Certificates:
    """Of one authority: a good one, one that has expired; and another authority that signed neither."""

    def __init__(self, folder: Path) -> None:
        for name in ("good", "old", "other"):
            (folder / name).mkdir()
        self.good = certificates.make(folder / "good", NAME)
        self.expired = certificates.make(folder / "old", NAME, valid_until=timedelta(hours=-1))
        self.other = certificates.make(folder / "other", NAME)


@pytest.fixture(scope="module")
def files() -> Iterator[Certificates]:
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    yield Certificates(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def good(binary: Binary, files: Certificates, templates: Templates) -> Iterator[PrivateServer]:
    """A server whose certificate is made out to localhost, and to no address."""
    yield from _started(binary, files.good, templates)


@pytest.fixture(scope="module")
def expired(binary: Binary, files: Certificates, templates: Templates) -> Iterator[PrivateServer]:
    """A server whose certificate was valid until an hour ago."""
    yield from _started(binary, files.expired, templates)


def _started(binary: Binary, files: Files, templates: Templates) -> Iterator[PrivateServer]:
    server = asyncio.run(Starter(templates)(binary, options=files.server_options))
    yield server
    asyncio.run(server.stop())


def asked(server: PrivateServer, mode: str, authority: Path, host: str) -> Finished:
    target = over_tcp(server.target, host=host)
    return tuibench("settings", "list", f"--ssl-mode={mode}", f"--ssl-ca={authority}", target=target)


def where(server: PrivateServer, host: str) -> str:
    return f"{host}:{server.target.port}"


@pytest.mark.parametrize("mode", VERIFYING)
def test_a_certificate_that_has_expired(expired: PrivateServer, files: Certificates, mode: str) -> None:
    done = asked(expired, mode, files.expired.ca, NAME)
    assert (done.code, done.out) == (UNREACHABLE, "")
    expected = f"the certificate of {where(expired, NAME)} is not valid now: certificate has expired"
    assert expected in done.err
    assert "replace it" in done.err


@pytest.mark.parametrize("mode", ["required", "preferred"])
def test_modes_that_verify_nothing(expired: PrivateServer, files: Certificates, mode: str) -> None:
    """They encrypt, whoever answers; as the clients of both servers do, and say so."""
    done = asked(expired, mode, files.other.ca, ADDRESS)
    said = f"warning: --ssl-mode={mode} does not verify the server's certificate: --ssl-ca has no effect\n"
    assert (done.code, done.err) == (0, said)


@pytest.mark.parametrize("host", [NAME, ADDRESS])
def test_an_authority_alone_verifies(good: PrivateServer, files: Certificates, host: str) -> None:
    target = over_tcp(good.target, host=host)
    for authority, code in ((files.good.ca, 0), (files.other.ca, UNREACHABLE)):
        done = tuibench("settings", "list", f"--ssl-ca={authority}", target=target)
        assert done.code == code, done
        assert ("is not trusted" in done.err) == bool(code)
