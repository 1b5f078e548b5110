"""Options of server, session and cluster."""

import io
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from msgspec.structs import replace

from tests.tables import for_each
from tests.unit.cli.plans import planned
from tuibench.base import config
from tuibench.base.credentials import PASSWORD_PIPE
from tuibench.base.errors import RunError, UsageError
from tuibench.cli import server_address, server_options
from tuibench.cli.options import (
    FPS_VARIABLE,
    BackgroundOptions,
    PrivateServerOptions,
    ScreenOptions,
    check_lag_objectives,
    parse_address,
    server_option,
)
from tuibench.cli.runner import new_session_spec
from tuibench.cli.server_options import ServerOptions, replica_choice
from tuibench.model.message import Address
from tuibench.model.schedule import parse_max_lag, parse_size
from tuibench.model.server import Flavour, ServerLimits, Target, server_words
from tuibench.mysql.option_files import OptionFiles, server_sockets
from tuibench.servers.binaries import Binary

# Where the server is: options, then the environment, then option files.


@pytest.fixture
def option_file(tmp_path: Path) -> Path:
    path = tmp_path / "my.cnf"
    path.write_text(
        "[client]\nhost=filehost\nport=3310\nuser=fileuser\npassword=filesecret\nsocket=/file.sock\n"
        "[tuibench]\ndatabase=filedb\n[client-test]\nuser=testuser\n"
    )
    return path


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_address, "DEFAULT_SOCKETS", ())


def target(file: Path | None = None, **given: Any) -> Target:
    """The target of these options; of no option file unless one is given."""
    return ServerOptions(defaults_file=str(file or os.devnull), **given).target()


def test_without_anything_it_is_ours_on_localhost() -> None:
    made = target()
    assert (made.host, made.port, made.socket, made.database) == ("localhost", 3306, "", "sbtest")
    assert (made.user, made.password) == (server_options.system_user(), "")


def test_an_option_file_says_the_rest(option_file: Path) -> None:
    made = target(option_file)
    assert (made.host, made.port, made.user, made.database) == ("filehost", 3310, "fileuser", "filedb")
    assert (made.password, made.socket) == ("filesecret", "")
    assert target(option_file, defaults_group_suffix="-test").user == "testuser"


def test_options_stand_before_the_environment_and_that_before_files(
    option_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUIBENCH_USER", "envuser")
    monkeypatch.setenv("TUIBENCH_PORT", "3320")
    monkeypatch.setenv("MYSQL_PWD", "envsecret")
    made = target(option_file, user="me")
    assert (made.user, made.port, made.password, made.database) == ("me", 3320, "envsecret", "filedb")


def test_a_host_given_means_that_host_and_not_a_files_socket(option_file: Path) -> None:
    assert target(option_file, host="other").socket == ""
    assert target(option_file, host="other", socket="/mine.sock").socket == "/mine.sock"


def test_localhost_means_the_packagers_socket_unless_a_port_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "mysqld.sock"
    there.touch()
    monkeypatch.setattr(server_address, "DEFAULT_SOCKETS", ("/not/there.sock", str(there)))
    assert target().socket == target(host="localhost").socket == str(there)
    assert target(port=3306).socket == target(host="127.0.0.1").socket == ""


def test_a_place_of_the_environment_hides_a_files_socket(
    option_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUIBENCH_HOST", "envhost")
    assert target(option_file).where == "envhost:3310"


@for_each(
    ("file", "given", "environment", "where"),
    [
        ("host=db1\nsocket=/s", {}, {}, "db1:3306"),
        ("socket=/s\nport=3307", {}, {}, "socket /s"),
        ("protocol=tcp\nsocket=/s", {}, {}, "localhost:3306"),
        ("protocol=tcp\nport=0", {}, {"MYSQL_TCP_PORT": "3333"}, "localhost:3333"),
        ("protocol=tcp", {"socket": "/x"}, {}, "socket /x"),
        ("socket=/s", {"protocol": "tcp"}, {}, "localhost:3306"),
        ("socket=/s", {"protocol": "socket", "port": "3307"}, {}, "socket /s"),
        ("protocol=socket\nsocket=/s", {"port": "3307"}, {}, "localhost:3307"),
        ("host=db1\nport=3307", {"port": "0"}, {}, "db1:3306"),
        ("", {"protocol": "tcp"}, {"MYSQL_UNIX_PORT": "/e"}, "localhost:3306"),
        ("", {}, {"MYSQL_UNIX_PORT": "/e", "MYSQL_HOST": ""}, "socket /e"),
        ("", {}, {"MYSQL_UNIX_PORT": "/e", "MYSQL_HOST": "db2"}, "db2:3306"),
        ("host=db1", {}, {"MYSQL_HOST": "db2", "MYSQL_TCP_PORT": "3333"}, "db1:3333"),
        ("host=db1", {}, {"MYSQL_HOST": "db2", "TUIBENCH_HOST": "db3"}, "db3:3306"),
        ("host=", {}, {"MYSQL_HOST": "db2", "MYSQL_UNIX_PORT": "/e"}, "socket /e"),
        ("host=::1\nport=7", {}, {}, "[::1]:7"),
        ("host=[::1]", {"port": "7"}, {}, "[::1]:7"),
        ("host=db1:3307\nport=3308", {}, {}, "db1:3307"),
    ],
)
def test_the_server_of_the_clients(
    file: str,
    given: dict[str, Any],
    environment: dict[str, str],
    where: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "my.cnf").write_text(f"[client]\n{file}\n")
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert target(tmp_path / "my.cnf", **given).where == where


def test_hosts_of_an_option_file_are_other_addresses_of_one_server(tmp_path: Path) -> None:
    """As for MariaDB's client; tuibench's own list distributes the load."""
    (tmp_path / "my.cnf").write_text("[client]\nhost=db1,db2:3307\nport=3306\n")
    made = target(tmp_path / "my.cnf")
    assert [each.where for each in made.addresses] == ["db1:3306", "db2:3307"]
    assert not made.further


@for_each(
    ("file", "given", "words"),
    [
        ("host=db1", {"socket": "/x"}, "db1 of the option files is not used"),
        ("", {"host": "db1", "socket": "/x"}, "--host=db1 is not used"),
        ("", {"protocol": "tcp", "socket": "/x"}, "--socket=/x is not used"),
        ("protocol=socket\nsocket=/s", {"port": "7"}, "protocol=socket of the option files is not used"),
        ("host=db1", {"host": "db2"}, ""),
        ("host=localhost", {"socket": "/x", "port": "3307"}, ""),
    ],
)
def test_an_address_that_is_not_used_is_told(
    file: str, given: dict[str, str], words: str, tmp_path: Path
) -> None:
    (tmp_path / "my.cnf").write_text(f"[client]\n{file}\n")
    told: list[str] = []
    ServerOptions(defaults_file=str(tmp_path / "my.cnf"), **given).target(told.append)  # type: ignore[arg-type]
    assert [words in each for each in told] == [True] * bool(words)


def test_a_port_of_a_file_beside_the_default_socket_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_address, "local_sockets", lambda more: ["/run/one.sock", "/run/two.sock"])
    (tmp_path / "my.cnf").write_text("[client]\nport=3307\n")
    told: list[str] = []
    made = ServerOptions(defaults_file=str(tmp_path / "my.cnf")).target(told.append)
    assert made.socket == "/run/one.sock"
    assert [each.partition(";")[0].partition(":")[0] for each in told] == [
        "several servers listen on this host",
        "port 3307 is not used",
    ]


def test_sockets_of_servers_in_the_option_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packagers' come first, a second name of the same socket is none, and a dead one none either."""
    alive, dead, also = (tmp_path / name for name in ("alive.sock", "dead.sock", "also.sock"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(alive))
    dead.touch()
    also.symlink_to(alive)
    file = tmp_path / "my.cnf"
    file.write_text(f"[mysqld]\nsocket={alive}\n[mariadb]\nsocket={also}\n[client]\nsocket=/no\n")
    found = server_sockets(OptionFiles(str(file)))
    assert found == [str(alive), str(also)]
    monkeypatch.setattr(server_address, "DEFAULT_SOCKETS", (str(dead),))
    listing = tmp_path / "unix"
    monkeypatch.setattr(server_address, "LISTENING_SOCKETS", listing)
    assert server_address.local_sockets(lambda: found) == [str(dead), str(alive)]
    listing.write_text(f"Num RefCount\n0: 2 0 10000 1 1 1 {alive}\n1: 2 0 0 1 3 4\n")
    assert server_address.local_sockets(lambda: found) == [str(alive)]
    listener.close()


@for_each(
    ("text", "words", "hint"),
    [
        (
            "mysql://app:s3cret@127.0.0.1:1/shop",
            "not a URL",
            "as options: --host=127.0.0.1 --port=1 --user=app --database=shop -p",
        ),
        ("mysql://app:s3/c@ret@[::1]/", "not a URL", "--host=::1 --user=app -p"),
        ("mysql://db1", "not a URL", "as options: --host=db1"),
        ("app:s3cret@db1:3307", "not '…@db1:3307'", "--host=db1 --port=3307 --user=app -p"),
        ("db1:port", "not 'db1:port'", "db1:3307"),
        ("[db1]:1", "not '[db1]:1'", "db1:3307"),
        ("db1:0", "not 'db1:0'", "db1:3307"),
        ("a b", "not 'a b'", "db1:3307"),
    ],
)
def test_a_host_that_is_none_shows_no_password(text: str, words: str, hint: str) -> None:
    for option in ("host", "failover"):
        with pytest.raises(UsageError, match=f"--{option} takes") as refused:
            ServerOptions(defaults_file=os.devnull, **{option: text}).target()  # type: ignore[arg-type]
        assert words in refused.value.message
        assert hint in refused.value.hint
        assert "s3" not in str(refused.value)
        assert "ret" not in str(refused.value)


def test_a_host_has_one_port_and_no_user() -> None:
    with pytest.raises(UsageError, match="there is --port, and a port in --host=db1:3307"):
        target(host="db0,db1:3307", port="3308")
    with pytest.raises(UsageError, match="--host takes no user"):
        target(host="app@db1")


def test_a_user_without_a_name_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*of: object) -> None:
        raise KeyError(of)

    monkeypatch.setattr("os.geteuid", lambda: 54321)
    monkeypatch.setattr("pwd.getpwuid", nothing)
    monkeypatch.setattr("os.getlogin", lambda: os.open("/none", os.O_RDONLY))
    for variable in ("USER", "LOGNAME", "LOGIN"):
        monkeypatch.delenv(variable, raising=False)
    assert target(user="app").user == "app"
    with pytest.raises(UsageError, match="the user id 54321 of this process has no name") as refused:
        target()
    assert "--user" in refused.value.hint
    monkeypatch.setenv("USER", "me")
    assert target().user == "me"


def test_localhost_given_keeps_a_files_socket_unless_a_port_is_given(option_file: Path) -> None:
    assert target(option_file, host="localhost").where == "socket /file.sock"
    assert target(option_file, host="localhost", port=3307).where == "localhost:3307"


# Several servers, as sysbench takes them


def places(**given: Any) -> list[str]:
    made = target(**given)
    return [made.for_connection(number).where for number in range(len(made.further) + 1)]


def test_every_host_goes_with_every_port() -> None:
    assert places(host="a,b") == ["a:3306", "b:3306"]
    assert places(host="a, b", port="1,2") == ["a:1", "a:2", "b:1", "b:2"]
    assert places(host="::1") == ["[::1]:3306"]


def test_sockets_win_over_hosts() -> None:
    assert places(host="a,b", socket="/x,/y") == ["socket /x", "socket /y"]


def test_other_addresses_have_the_servers_port_and_login() -> None:
    made = target(host="a", port="3307", failover="b, c:1, /x.sock", user="ann")
    assert [each.where for each in made.addresses] == ["a:3307", "b:3307", "c:1", "socket /x.sock"]
    assert {each.user for each in made.addresses} == {"ann"}


# Compression


def test_compression_in_the_words_of_each_tool() -> None:
    assert target(compress=True) == target(mysql_compression="on") == replace(target(), compress=True)
    assert "--compress" in server_words(target(compress=True))
    assert target(compression_algorithms="zlib") == target(compress=True)
    assert target(mysql_compression="off", compression_algorithms="uncompressed") == target()


# Passwords


def test_a_password_command_replaces_the_password_of_a_file(option_file: Path) -> None:
    made = target(option_file, password_command="print-token")
    assert (made.password, made.password_command) == ("", "print-token")


def test_a_password_that_was_taken_off_the_command_line_comes_first(
    option_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    monkeypatch.setenv(PASSWORD_PIPE, str(reading))
    monkeypatch.setenv("MYSQL_PWD", "envsecret")
    assert target(option_file).password == "piped"


def test_p_asks_and_what_is_typed_counts(option_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []

    def prompt(text: str, **how: object) -> str:
        asked.append(how)
        return "typed"

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(server_options, "TERMINAL", os.devnull)
    assert target(option_file, ask_password=True).password == "typed"
    assert asked[0]["hide_input"] is True
    assert asked[0]["err"] is True


def test_p_without_a_terminal_takes_a_line_of_stdin(
    option_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_options, "TERMINAL", "/none")
    monkeypatch.setattr(sys, "stdin", io.StringIO("piped secret\nmore\n"))
    assert target(option_file, ask_password=True).password == "piped secret"


def test_p_is_refused_without_a_terminal(option_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from cron, whose jobs have neither a terminal nor anything on stdin."""
    monkeypatch.setattr(server_options, "TERMINAL", "/none")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(UsageError, match="there is no terminal") as refused:
        target(option_file, ask_password=True)
    assert "MYSQL_PWD" in refused.value.hint


# What cannot be


PORT = "--port must be between 1 and 65535"
TIMEOUT = "--net-timeout must be between 0.1 and 86,400 seconds"


@for_each(
    ("given", "told"),
    [
        ({"host": ","}, "--host is empty"),
        ({"host": "a", "port": ","}, "--port"),
        ({"host": "a", "port": "1,0"}, "--port"),
        *(({"host": "db", "port": port}, PORT) for port in (-1, 65_536, 99_999_999)),
        ({"failover": "b:0"}, "--failover"),
        ({"failover": "u@b"}, "--failover"),
        ({"host": "a,b", "failover": "c"}, "--failover"),
        *(({"net_timeout": seconds}, TIMEOUT) for seconds in (0.0, -1.0, float("nan"), 1e6)),
        ({"ssl_mode": "sometimes"}, "ssl_mode"),
        ({"mysql_compression": "some"}, "on or off"),
        ({"compression_algorithms": "zstd"}, "zlib or uncompressed, not 'zstd'"),
        ({"protocol": "pipe"}, "the protocol pipe"),
        ({"protocol": "udp"}, "tcp or socket, not 'udp'"),
        ({"protocol": "socket", "host": "db1"}, "the protocol is socket, and the host db1"),
        ({"protocol": "socket"}, "the protocol is socket, and none was found"),
    ],
)
def test_options_that_name_no_server_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as refusal:
        target(**given)
    assert told in str(refusal.value)


def test_an_environment_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIBENCH_PORT", "many")
    with pytest.raises(UsageError, match="--port must be between 1 and 65535, not many"):
        target()


@pytest.mark.parametrize("mode", ["REQUIRED", "verify_ca", "disabled"])
def test_ssl_modes_are_taken_in_the_servers_spelling(mode: str) -> None:
    assert target(ssl_mode=mode).ssl_mode == mode.lower().replace("_", "-")


KNOWN = Target(socket="/run/known.sock", user="app", ssl_mode="required")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (ServerOptions(), {"socket": "/run/known.sock", "user": "app", "password": "secret"}),
        (ServerOptions(port="3307"), {"socket": "", "port": 3307, "user": "app"}),
        (ServerOptions(socket="/run/new.sock", port="3307"), {"socket": "/run/new.sock", "port": 3307}),
        (ServerOptions(host="db2", user="root"), {"socket": "", "host": "db2", "user": "root"}),
        (ServerOptions(password_command="pass"), {"password": "", "password_command": "pass"}),
    ],
)
def test_options_are_laid_over_a_server_known_from_a_record(
    options: ServerOptions, expected: dict[str, object]
) -> None:
    target = options.over(KNOWN, Target(password="secret"))
    assert {name: getattr(target, name) for name in expected} == expected
    assert target.ssl_mode == "required"


# Timeouts


def test_timeouts_given_win_over_files(option_file: Path) -> None:
    option_file.write_text("[tuibench]\nquery-timeout=3\nnet-timeout=9\n")
    made = target(option_file, query_timeout=4.0)
    assert (made.connect_timeout, made.query_timeout, made.net_timeout) == (10.0, 4.0, 9.0)


@pytest.mark.parametrize(
    ("given", "mode", "told"),
    [
        ({"ssl_ca": "ca.pem"}, "verify-ca", 0),
        ({"ssl_ca": "ca.pem", "host": "127.0.0.1"}, "verify-ca", 0),
        ({"ssl_ca": "ca.pem", "ssl_mode": "VERIFY_IDENTITY"}, "verify-identity", 0),
        ({"ssl_ca": "ca.pem", "ssl_mode": "preferred"}, "preferred", 1),
        ({"ssl_ca": "ca.pem", "ssl_mode": "required"}, "required", 1),
        ({"ssl_server_name": "db"}, "verify-identity", 0),
        ({"ssl_server_name": "db", "ssl_ca": "ca.pem"}, "verify-identity", 0),
        ({"ssl_server_name": "db", "ssl_ca": "ca.pem", "ssl_mode": "verify-ca"}, "verify-ca", 1),
        ({"ssl_server_name": "db", "ssl_ca": "ca.pem", "ssl_mode": "required"}, "required", 2),
        ({"ssl_mode": "preferred"}, "preferred", 0),
        ({}, "preferred", 0),
    ],
)
def test_a_ca_means_verify_ca_unless_a_mode_is_given(given: dict[str, Any], mode: str, told: int) -> None:
    said: list[str] = []
    made = ServerOptions(defaults_file=os.devnull, **given).target(tell=said.append)
    assert made.ssl_mode == mode
    assert len(said) == told
    assert all(f"--ssl-mode={mode} does not verify" in each for each in said)


def test_a_ca_of_an_option_file_means_the_same(tmp_path: Path) -> None:
    (tmp_path / "ca.cnf").write_text("[client]\nssl-ca=ca.pem\n")
    (tmp_path / "both.cnf").write_text("[client]\nssl-ca=ca.pem\nssl-mode=REQUIRED\n")
    assert target(tmp_path / "ca.cnf").ssl_mode == "verify-ca"
    assert target(tmp_path / "both.cnf").ssl_mode == "required"


def test_a_ca_over_a_recorded_server() -> None:
    known, options = Target(host="db"), ServerOptions(ssl_ca="ca.pem")
    assert options.over(known, Target()).ssl_mode == "verify-ca"
    assert ServerOptions(user="me").over(known, Target()).ssl_mode == "preferred"
    named = ServerOptions(ssl_server_name="db").over(options.over(known, Target()), Target())
    assert (named.ssl_mode, named.ssl_server_name) == ("verify-identity", "db")


EXCHANGE = ("get_server_public_key", "server_public_key_path", "enable_cleartext_plugin")


def exchange(made: Target) -> tuple[object, ...]:
    return tuple(getattr(made, name) for name in EXCHANGE)


def test_other_ways_for_a_password_are_off_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exchange(target()) == (False, "", False)
    given: dict[str, Any] = {
        "get_server_public_key": True,
        "server_public_key_path": "k.pem",
        "enable_cleartext_plugin": True,
    }
    assert exchange(target(**given)) == (True, "k.pem", True)
    (tmp_path / "my.cnf").write_text(
        "[client]\nget-server-public-key\nserver_public_key_path=f.pem\n"
        "[tuibench]\nenable-cleartext-plugin=ON\n"
    )
    assert exchange(target(tmp_path / "my.cnf")) == (True, "f.pem", True)
    monkeypatch.setenv("TUIBENCH_GET_SERVER_PUBLIC_KEY", "0")
    monkeypatch.setenv("TUIBENCH_SERVER_PUBLIC_KEY_PATH", "e.pem")
    assert exchange(target(tmp_path / "my.cnf")) == (False, "e.pem", True)
    monkeypatch.setenv("TUIBENCH_ENABLE_CLEARTEXT_PLUGIN", "perhaps")
    with pytest.raises(UsageError, match="TUIBENCH_ENABLE_CLEARTEXT_PLUGIN: 'perhaps' is no value"):
        target()


# `--prometheus`: the addresses it takes, and what is said of others.


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (":9104", Address("127.0.0.1", 9104)),
        ("9104", Address("127.0.0.1", 9104)),
        ("10.0.0.1:0", Address("10.0.0.1", 0)),
        ("monitor.example:65535", Address("monitor.example", 65535)),
        ("[::1]:9104", Address("::1", 9104)),
    ],
)
def test_an_address(text: str, wanted: Address) -> None:
    assert parse_address(text) == wanted
    assert BackgroundOptions(prometheus=text).address == wanted
    assert parse_address(str(wanted)) == wanted


@pytest.mark.parametrize("text", [":", "host:", ":65536", ":-1", "::1:9104", "[host]:9104", ":http", "host"])
def test_what_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="--prometheus takes") as error:
        parse_address(text)
    assert ":9104" in error.value.hint


def test_without_it_nothing_is_served() -> None:
    assert BackgroundOptions().address is None
    BackgroundOptions().check_port_free()


def test_a_port_that_is_taken_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunError, match=f"cannot serve metrics at 127.0.0.1:{port}"):
            BackgroundOptions(prometheus=f":{port}").check_port_free()


# --replica, --max-lag and --host-metrics.


TARGET = Target(user="ann", password="secret", socket="/run/one.sock")


def test_replicas_have_the_servers_login() -> None:
    choice = replica_choice(["db2", "bob@[::1]:3307", "/run/two.sock", "auto"], TARGET)
    assert [(each.user, each.where) for each in choice.targets] == [
        ("ann", "db2:3306"),
        ("bob", "[::1]:3307"),
        ("ann", "socket /run/two.sock"),
    ]
    assert {each.password for each in choice.targets} == {"secret"}
    assert choice.find
    assert not replica_choice([], TARGET).is_wanted


@pytest.mark.parametrize("text", ["", "db2:port", "db2:99999", "ann:secret@db2", "a b"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="--replica"):
        replica_choice([text], TARGET)


def test_max_lag() -> None:
    assert (parse_max_lag("1m5s"), parse_max_lag(" 2.5 "), parse_max_lag("")) == (65.0, 2.5, 0.0)
    for text in ("0", "-1", "5x", "nan", "soon"):
        with pytest.raises(UsageError, match="--max-lag"):
            parse_max_lag(text)


def test_a_limit_and_an_objective_need_replicas(tuibench_home: object) -> None:
    with pytest.raises(UsageError, match="requires --replica"):
        planned("--max-lag=5s")
    with pytest.raises(UsageError, match="requires --replica"):
        check_lag_objectives(planned(), ["tps>5", " Lag<5s"])
    plan = planned("--replica=db2", "--max-lag=5s", "--host-metrics=ssh:db1")
    check_lag_objectives(plan, ["lag<5s"])
    assert (plan.max_lag_seconds, plan.host_metrics, plan.replicas) == (5.0, "ssh:db1", ("db2",))
    assert len(new_session_spec(plan, TARGET).replicas.targets) == 1


def test_a_sweep_reads_the_host_of_its_server() -> None:
    assert planned("--host-metrics=ssh:db1", command="sweep").host_metrics == "ssh:db1"
    with pytest.raises(UsageError):
        planned("--host-metrics=carrier pigeon", command="sweep")


def test_watch_has_no_load_to_hold_back() -> None:
    with pytest.raises(UsageError, match="watch has none"):
        planned("--replica=db2", "--max-lag=5s", command="watch")


# How private servers are set up by options.


BINARY = Binary(path="/x/mysqld", flavour=Flavour.MYSQL, version="8.4.3")


def test_options_given_win_over_those_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=0\nport=3306\n")
    options = PrivateServerOptions(my_cnf=str(file), mysqld_option=["--sync_binlog=100", "skip-log-bin"])
    built = options.build("old", BINARY)
    assert built.options == ("--sync-binlog=0", "--sync_binlog=100", "--skip-log-bin")
    assert f"old: not taken from {file}: port" in capsys.readouterr().err


def test_several_option_files_are_builds_of_their_own(tmp_path: Path) -> None:
    for name, text in (("small", "4M"), ("large", "1G")):
        (tmp_path / f"{name}.cnf").write_text(f"[mysqld]\ninnodb_redo_log_capacity={text}\n")
    options = PrivateServerOptions(my_cnf=f"{tmp_path}/small.cnf,{tmp_path}/large.cnf")
    assert [(word, build.options) for word, build in options.builds("old", BINARY)] == [
        ("small", ("--innodb-redo-log-capacity=4M",)),
        ("large", ("--innodb-redo-log-capacity=1G",)),
    ]
    with pytest.raises(UsageError, match="--my-cnf takes one file here"):
        options.build("old", BINARY)


def test_nothing_given() -> None:
    options = PrivateServerOptions()
    assert options.build("old", BINARY).options == ()
    assert options.limits() == ServerLimits()


def test_limits() -> None:
    one = ServerLimits(cpus=1, memory_bytes=2**30)
    assert PrivateServerOptions(cpus="1", memory="1G").limits() == one


def test_several_limits_in_a_sweep() -> None:
    options = PrivateServerOptions(cpus="0.5, 1", memory="512M,1G")
    assert options.every_limit() == [
        ServerLimits(cpus=cpus, memory_bytes=size) for cpus in (0.5, 1) for size in (2**29, 2**30)
    ]
    with pytest.raises(UsageError, match="take one value each here"):
        options.limits()
    assert PrivateServerOptions().every_limit() == [ServerLimits()]


@pytest.mark.parametrize(
    ("cpus", "memory", "said"),
    [
        ("many", "", "--cpus: 'many' is not a number"),
        ("nan", "", "--cpus must be between"),
        ("1,", "", "--cpus takes values separated by commas"),
        ("1,1", "", "--cpus: 1 is given twice"),
        ("1,1.0", "", "name the same limits twice"),
        ("", "1G,1024M", "name the same limits twice"),
        ("", "1G,lots", "--memory: 'lots' is not a size"),
    ],
)
def test_limits_that_are_none(cpus: str, memory: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        PrivateServerOptions(cpus=cpus, memory=memory).every_limit()
    with pytest.raises(UsageError):
        PrivateServerOptions(cpus=cpus, memory=memory).limits()


@pytest.mark.parametrize("memory", ["many", "-1G", "1 G", ""])
def test_no_size(memory: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(memory)


@pytest.mark.parametrize(("text", "size"), [("4G", 2**32), ("512m", 2**29), ("1.5GiB", 3 * 2**29), ("7", 7)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "--", "=5", "a b=1", "--x;rm=1"])
def test_no_option(text: str) -> None:
    with pytest.raises(UsageError, match="--mysqld-option takes NAME=VALUE"):
        server_option(text)


# How a screen looks: from the command line, else from the configuration file.


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FPS_VARIABLE, "60")


def configured(text: str) -> None:
    config.config_file().parent.mkdir(exist_ok=True)
    config.config_file().write_text(text)


@pytest.mark.usefixtures("pace")
def test_what_an_option_does_not_say_the_file_does(tuibench_home: Path) -> None:
    configured('[screen]\ntheme = "ansi-light"\nfps = 4\nmouse = false\n[keys]\npause = "i"\n')
    display = ScreenOptions().display_options()
    assert (display.theme, display.mouse, display.keymap.shown) == ("ansi-light", False, {"pause": "i"})
    assert os.environ[FPS_VARIABLE] == "4"
    display = ScreenOptions(theme="ansi-dark", fps=10, no_mouse=True).display_options()
    assert (display.theme, display.mouse) == ("ansi-dark", False)
    assert os.environ[FPS_VARIABLE] == "10"


@pytest.mark.usefixtures("pace")
def test_without_either_the_mouse_is_ours(tuibench_home: Path) -> None:
    display = ScreenOptions().display_options()
    assert (display.theme, display.mouse) == ("", True)


@pytest.mark.usefixtures("pace")
@pytest.mark.parametrize(
    ("options", "text", "fault"),
    [
        (ScreenOptions(fps=61), "", "--fps must be between 1 and 60, not 61"),
        (ScreenOptions(theme="pink"), "", "there is no theme 'pink'"),
        (ScreenOptions(), "[screen]\ncolour = 1", "config.toml: screen.colour: unknown key"),
        (
            ScreenOptions(),
            "[screen]\nfps = true",
            "config.toml: screen.fps: a whole number, not true or false",
        ),
        (ScreenOptions(), "[keys]\nstpo = 'o'", "config.toml: keys.stpo: there is no action 'stpo'"),
    ],
)
def test_faults_are_named(tuibench_home: Path, options: ScreenOptions, text: str, fault: str) -> None:
    configured(text)
    with pytest.raises(UsageError) as caught:
        options.display_options()
    assert fault in str(caught.value)
