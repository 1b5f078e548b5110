"""A server like those of cloud providers: TLS is required, its name is hidden by a tunnel, no SUPER."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tests.integration.support import certificates
from tests.integration.support.commands import Finished, ask, tuibench
from tests.integration.support.sbtest import over_tcp
from tests.integration.support.shared import Starter, Templates
from tuibench.base.errors import ExitCode
from tuibench.model.server import Target
from tuibench.servers.binaries import Binary

NAME = "db.example.net"
PASSWORD = "Managed-Login-1"
UNREACHABLE = int(ExitCode.SERVER_UNAVAILABLE)


class Managed(NamedTuple):
    """The account of an application, at the end of a tunnel on 127.0.0.1; and the provider's certificate."""

    target: Target
    ca: Path

    def run(self, *words: str, **options: str) -> Finished:
        verified = {"ssl_ca": str(self.ca), "ssl_server_name": NAME, **options}
        given = (f"--{name.replace('_', '-')}={value}" for name, value in verified.items() if value)
        return tuibench(*words, *given, target=self.target)


@pytest.fixture(scope="module")
def managed(binary: Binary, templates: Templates) -> Iterator[Managed]:
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    files = certificates.make(folder, NAME)
    options = (*files.server_options, "--require-secure-transport=ON")
    server = asyncio.run(Starter(templates)(binary, options=options))
    account = "app@'%'"
    asyncio.run(
        ask(
            server.target,
            f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}'",
            f"GRANT ALL ON sbtest.* TO {account}",
            f"GRANT PROCESS ON *.* TO {account}",
            "CREATE DATABASE IF NOT EXISTS sbtest",
        )
    )
    yield Managed(over_tcp(server.target, user="app", password=PASSWORD), files.ca)
    asyncio.run(server.stop())
    shutil.rmtree(folder)


def test_a_login_without_tls_is_told_about_tls_first(managed: Managed) -> None:
    for mode in ("preferred", "disabled"):
        done = managed.run("settings", "list", ssl_ca="", ssl_server_name="", ssl_mode=mode)
        assert (done.code, done.out) == (UNREACHABLE, "")
        hint = done.err.strip().splitlines()[-1]
        assert "--ssl-mode=required" in hint, done.err
        assert "--user" not in hint.partition("--ssl-mode=required")[0]


@pytest.mark.one_flavour
def test_a_tunnel_is_verified_by_the_name_of_its_server(managed: Managed) -> None:
    assert managed.run("settings", "list").code == 0
    for name in ("", "db2.example.net"):
        done = managed.run("settings", "list", ssl_server_name=name, ssl_mode="verify-identity")
        assert (done.code, done.out) == (UNREACHABLE, "")
        expected = name or managed.target.host
        assert f"the certificate of 127.0.0.1:{managed.target.port} is not for '{expected}'" in done.err
        assert "--ssl-server-name" in done.err


def test_settings_that_cannot_be_changed_name_the_parameter_group(managed: Managed) -> None:
    listed = json.loads(managed.run("settings", "list", "--format=json").out)["settings"]
    changeable = [each["name"] for each in listed if each["scope"] == "server" and not each["unavailable"]]
    assert changeable == []
    table = ("oltp_point_select", "--tables=1", "--table-size=10")
    assert managed.run("prepare", *table).code == 0
    done = managed.run("sweep", *table, "--time=1", "--setting=innodb_flush_log_at_trx_commit=1,2")
    assert done.code == ExitCode.USAGE_ERROR, done
    assert "parameter group" in done.err, done.err
    assert managed.run("cleanup", *table).code == 0


def test_a_load_runs_over_tls(managed: Managed) -> None:
    table = ("oltp_read_write", "--tables=1", "--table-size=50")
    for words in (("prepare", *table), ("run", *table, "--threads=2", "--events=40", "--json=-")):
        done = managed.run(*words)
        assert done.code == 0, done
    client = json.loads(done.out)["client"]
    assert client["tls"].startswith("TLS")
    assert managed.run("cleanup", *table).code == 0


@pytest.mark.one_flavour
def test_a_token_is_the_password_of_a_login(managed: Managed) -> None:
    without = managed._replace(target=msgspec.structs.replace(managed.target, password=""))
    command = f"printf {PASSWORD}"
    assert without.run("settings", "list", password_command=command).code == 0
    done = without.run("settings", "list", password_command="printf expired")
    assert (done.code, done.out) == (UNREACHABLE, "")
    assert "refuses user 'app'" in done.err
