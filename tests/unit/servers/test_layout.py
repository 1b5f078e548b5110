"""Files of a private server: programs, options, folders, messages."""

import os
import re
import resource
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.servers.conftest import make_spec
from tuibench.base.errors import ServerUnavailableError, UsageError
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import Flavour
from tuibench.servers import binaries, instance, process, supervisor
from tuibench.servers.binaries import Binary
from tuibench.servers.instance import ServerState
from tuibench.servers.process import DirectoryLayout, read_server_options, server_groups
from tuibench.servers.server import make_password
from tuibench.servers.supervisor import SupervisorReply, SupervisorRequest

# Location of private servers.


def test_tmpdir_if_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = Path("/tmp")
    monkeypatch.setenv("TMPDIR", str(short))
    assert process.default_base() == short


def test_a_folder_too_deep_for_a_socket_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    assert process.default_base() == Path("/var/tmp")


def test_a_real_disk_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert process.default_base() == Path("/var/tmp")


def test_private_to_its_owner(tmp_path: Path) -> None:
    made = process.DirectoryLayout.create(tmp_path)
    process.write_private(made.client_options, "text")
    assert made.root.name.startswith(PRIVATE_SERVER_PREFIX)
    assert made.root.stat().st_mode & 0o777 == 0o700
    assert made.client_options.stat().st_mode & 0o777 == 0o600


def test_its_socket_tells_a_private_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = process.DirectoryLayout.create(tmp_path)
    assert not process.is_private_socket(str(made.socket)), "without a supervisor"
    made.supervisor_lock.touch()
    assert process.is_private_socket(str(made.socket))
    assert not process.is_private_socket("")
    assert not process.is_private_socket("/run/mysqld/mysqld.sock")

    def closed(path: object, **_: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "stat", closed)
    assert not process.is_private_socket(str(made.socket)), "of another account"


# Detection of server programs, and of flavour and version from their output.


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


# The server's command line.


LAYOUT = DirectoryLayout(Path("/b/d"))


@pytest.mark.parametrize("flavour", list(Flavour))
def test_no_option_file_first_and_the_callers_options_last(flavour: Flavour) -> None:
    command = instance.server_command(make_spec(flavour, options=("--sync-binlog=0",)), LAYOUT, 3307)
    assert command[1] == "--no-defaults"
    assert command[-1] == "--sync-binlog=0"
    assert command.index("--sync-binlog=1") < len(command) - 1


def options_of(version: str, *given: str, flavour: Flavour = Flavour.MYSQL) -> list[str]:
    """The options of a server's command line that concern its redo log, buffer pool and binary logs."""
    spec = make_spec(flavour, options=given)
    spec = replace(spec, binary=replace(spec.binary, version=version))
    command = instance.server_command(spec, LAYOUT, 3307)
    words = ("log-file", "log_file", "capacity", "buffer-pool-size", "dedicated", "expire")
    return [each for each in command if any(word in each for word in words)]


POOL, EXPIRE = "--innodb-buffer-pool-size=268435456", "--loose-binlog-expire-logs-seconds=60"
OURS = "--loose-innodb-redo-log-capacity=134217728"


@pytest.mark.parametrize(
    ("version", "given", "options"),
    [
        ("8.0.30", ("--innodb_log_file_size=1G", "--innodb-log-files-in-group=4"), 4 << 30),
        ("9.7.0", ("--loose-innodb_log_file_size=1G",), 2 << 30),
        ("9.7.0", ("--innodb-log-files-in-group=4",), 192 << 20),
    ],
)
def test_the_size_of_log_files_becomes_the_capacity_of_the_redo_log(
    version: str, given: tuple[str, ...], options: int
) -> None:
    assert options_of(version, *given) == [OURS, POOL, EXPIRE, f"--innodb-redo-log-capacity={options}"]


def test_log_files_stay_what_they_are_where_they_have_an_effect() -> None:
    given = ("--innodb-log-file-size=1G", "--innodb-log-files-in-group=4")
    assert options_of("8.0.29", *given) == [OURS, POOL, EXPIRE, *given]
    maria = options_of("11.8.9", *given, flavour=Flavour.MARIADB)
    assert maria == ["--loose-innodb-log-file-size=134217728", POOL, EXPIRE, *given]


def test_a_given_capacity_comes_behind_that_of_given_files() -> None:
    found = options_of("9.7.0", "--innodb_log_file_size=1G", "--innodb_redo_log_capacity=3G")
    assert found[-2:] == ["--innodb-redo-log-capacity=2147483648", "--innodb_redo_log_capacity=3G"]


def test_our_defaults_make_room_for_options_of_another_name() -> None:
    given = ("--innodb_dedicated_server=ON", "--expire_logs_days=3")
    assert options_of("8.0.36", *given) == list(given)
    assert options_of("8.0.36", "--innodb-dedicated-server=OFF")[:3] == [OURS, POOL, EXPIRE]


@pytest.mark.parametrize("flavour", list(Flavour))
def test_no_password(flavour: Flavour) -> None:
    spec = make_spec(flavour)
    assert spec.password not in " ".join(instance.server_command(spec, LAYOUT, 3307))


def test_few_open_files_leave_half_for_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    command = instance.server_command(make_spec(), LAYOUT, 3307)
    assert {"--open-files-limit=4096", "--max-connections=2048"} <= set(command)


def test_unlimited_files_are_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    assert instance.open_files_limit() == instance.MAX_OPEN_FILES


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000_001)
    assert instance.user_option() == []


# Options of a private server from another server's option file.


MY_CNF_MARIADB = Binary(path="/x/mariadbd", flavour=Flavour.MARIADB, version="10.11.19")
MY_CNF_MYSQL = Binary(path="/x/mysqld", flavour=Flavour.MYSQL, version="8.4.3")

TEXT = """
[client]
port = 3307
[mysqld]
datadir = /var/lib/mysql
innodb_buffer_pool_size = 2G   # half of it
loose_innodb_numa_interleave = ON
skip-name-resolve
log_bin = /var/log/mysql/binlog
socket = /run/mysqld/mysqld.sock
plugin_dir = /tmp/plugins
slow_query_log = ../ON
[mariadb]
query_cache_type = 0
[mysqld-8.4]
innodb_redo_log_capacity = 1G
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "my.cnf"
    path.write_text(TEXT)
    return str(path)


def test_the_servers_own_groups_without_places(file: str) -> None:
    options, left_out = read_server_options(file, MY_CNF_MARIADB)
    common = (
        "--innodb-buffer-pool-size=2G",
        "--loose-innodb-numa-interleave=ON",
        "--skip-name-resolve",
        "--log-bin=binlog",
    )
    assert options == (*common, "--query-cache-type=0")
    assert left_out == ("datadir", "socket", "plugin-dir", "slow-query-log")
    assert read_server_options(file, MY_CNF_MYSQL)[0] == (*common, "--innodb-redo-log-capacity=1G")


def test_groups() -> None:
    assert server_groups(MY_CNF_MYSQL) == {"mysqld", "server", "mysqld-8.4"}
    assert {"mariadb", "mariadb-10.11", "mariadbd", "client-server"} <= server_groups(MY_CNF_MARIADB)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the option file .*/none\.cnf: No such file"):
        read_server_options(str(tmp_path / "none.cnf"), MY_CNF_MYSQL)


# Messages between owner and supervisor.


@pytest.mark.parametrize(
    "sent",
    [
        SupervisorRequest("create", make_spec()),
        SupervisorRequest("start"),
        SupervisorRequest("halt"),
        SupervisorRequest("kill"),
        SupervisorRequest("check"),
        SupervisorRequest("end", remove=True),
    ],
)
def test_requests_round_trip(sent: SupervisorRequest) -> None:
    line = supervisor.encode_message(sent)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert supervisor.decode_request(line) == sent


@pytest.mark.parametrize("sent", [ServerState(1, 2, "/d"), ServerState(), ErrorMessage("two\nlines", "hint")])
def test_replies_round_trip(sent: SupervisorReply) -> None:
    assert supervisor.encode_message(sent).count(b"\n") == 1
    assert supervisor.decode_reply(supervisor.encode_message(sent)) == sent


def test_no_password_in_a_repr() -> None:
    assert make_spec().password not in repr(SupervisorRequest("create", make_spec()))


# The password of its account.


def test_a_password_meets_every_policy_and_needs_no_quotes() -> None:
    made = {make_password() for _ in range(50)}
    assert len(made) == 50
    for password in made:
        classes = [
            sum(test(character) for character in password)
            for test in (str.islower, str.isupper, str.isdigit, lambda each: not each.isalnum())
        ]
        assert min(classes) >= 8
        assert not re.search("[a-z]{3}", password, re.IGNORECASE)
        assert not set(password) & set("'\"\\#;=` {}")
