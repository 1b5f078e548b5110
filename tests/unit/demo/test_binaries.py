"""Detection of server programs, and of flavour and version from their output."""

from pathlib import Path

import pytest

from tuibench.demo import binaries
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import Flavour

MARIADB = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
MYSQL = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"
PERCONA = "mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27)"
HOMEBREW = "mysqld  Ver 11.4.2-MariaDB for osx10.19 on arm64 (Homebrew)"


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n[ "$*" = "--no-defaults --version" ] && echo "{says}"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "flavour", "version"),
    [
        (MARIADB, Flavour.MARIADB, "10.11.19"),
        (MYSQL, Flavour.MYSQL, "9.7.4"),
        (PERCONA, Flavour.MYSQL, "8.0.35"),
        (HOMEBREW, Flavour.MARIADB, "11.4.2"),
    ],
)
def test_flavour_and_version(tmp_path: Path, says: str, flavour: Flavour, version: str) -> None:
    binary = binaries.inspect_binary(program(tmp_path / "serverd", says))
    assert (binary.flavour, binary.version) == (flavour, version)


def test_too_old(tmp_path: Path) -> None:
    with pytest.raises(ServerUnavailableError, match=r"MySQL 5\.7\.44 .*too old .*8\.0 or newer"):
        binaries.inspect_binary(program(tmp_path / "mysqld", "mysqld  Ver 5.7.44 for Linux on x86_64"))


def test_not_a_server(tmp_path: Path) -> None:
    with pytest.raises(
        ServerUnavailableError, match="is not a MariaDB or MySQL server: its output is 'hello'"
    ):
        binaries.inspect_binary(program(tmp_path / "mysqld", "hello"))


def test_not_a_program(tmp_path: Path) -> None:
    with pytest.raises(ServerUnavailableError, match="cannot run"):
        binaries.inspect_binary(tmp_path / "mysqld")


def test_path_first_and_no_duplicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = program(tmp_path / "bin" / "mysqld", MYSQL)
    elsewhere = program(tmp_path / "sbin" / "mariadbd", MARIADB)
    (tmp_path / "sbin" / "mysqld").symlink_to("mariadbd")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert list(binaries.binary_candidates([str(tmp_path / "sbin"), "/nowhere"])) == [elsewhere, on_path]


def test_a_server_that_is_not_suitable_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "mariadbd", "mariadbd  Ver 10.1.48-MariaDB")
    good = program(tmp_path / "mysqld", MYSQL)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(binaries, "FOLDERS", ("/nowhere",))
    assert binaries.find_binary().path == str(good)


@pytest.mark.parametrize(
    ("manager", "words"),
    [("apt-get", "mariadb-server-core"), ("dnf", "mariadb-server"), ("brew", "brew install")],
)
def test_none_found_names_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manager: str, words: str
) -> None:
    program(tmp_path / manager, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(binaries, "FOLDERS", ("/nowhere",))
    with pytest.raises(ServerUnavailableError, match=f"no server program found.*{words}"):
        binaries.find_binary()
