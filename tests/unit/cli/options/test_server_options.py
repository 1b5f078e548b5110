"""Where the server is: options, then the environment, then option files."""

import io
import os
import sys
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
import typer

from tuibench.cli.options import server_options
from tuibench.cli.options.server_options import ServerOptions
from tuibench.credentials import PASSWORD_PIPE
from tuibench.errors import UsageError
from tuibench.model.target import Target


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
    monkeypatch.setattr(server_options, "DEFAULT_SOCKETS", ())


def target(file: Path | None = None, **given: Any) -> Target:
    """The target of these options; of no option file unless one is given."""
    return ServerOptions(defaults_file=str(file or os.devnull), **given).target()


def test_without_anything_it_is_ours_on_localhost() -> None:
    made = target()
    assert (made.host, made.port, made.socket, made.database) == ("localhost", 3306, "", "sbtest")
    assert (made.user, made.password) == (getuser(), "")


def test_an_option_file_says_the_rest(option_file: Path) -> None:
    made = target(option_file)
    assert (made.host, made.port, made.user, made.database) == ("filehost", 3310, "fileuser", "filedb")
    assert (made.password, made.socket) == ("filesecret", "/file.sock")
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
    monkeypatch.setattr(server_options, "DEFAULT_SOCKETS", ("/not/there.sock", str(there)))
    assert target().socket == target(host="localhost").socket == str(there)
    assert target(port=3306).socket == target(host="127.0.0.1").socket == ""


def test_a_place_of_the_environment_hides_a_files_socket(
    option_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUIBENCH_HOST", "envhost")
    assert target(option_file).where == "envhost:3310"


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
    assert places(host="::1") == ["::1:3306"]


def test_sockets_win_over_hosts() -> None:
    assert places(host="a,b", socket="/x,/y") == ["socket /x", "socket /y"]


@pytest.mark.parametrize("given", [{"host": ","}, {"host": "a", "port": ","}, {"host": "a", "port": "1,0"}])
def test_a_list_that_names_nothing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"--host is empty|--port"):
        target(**given)


# Compression


@pytest.mark.parametrize("given", [{"compress": True}, {"mysql_compression": "on"}])
def test_compression_is_refused_in_words(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="compression is not supported"):
        target(**given)


def test_compression_that_is_off_is_taken() -> None:
    assert target(mysql_compression="off") == target()
    with pytest.raises(UsageError, match="on or off"):
        target(mysql_compression="some")


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


@pytest.mark.parametrize("port", [0, -1, 65_536, 99_999_999])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match="--port must be between 1 and 65535"):
        target(host="db", port=port)


def test_an_environment_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIBENCH_PORT", "many")
    with pytest.raises(UsageError, match="--port must be between 1 and 65535, not many"):
        target()


@pytest.mark.parametrize("mode", ["REQUIRED", "verify_ca", "disabled"])
def test_ssl_modes_are_taken_in_the_servers_spelling(mode: str) -> None:
    assert target(ssl_mode=mode).ssl_mode == mode.lower().replace("_", "-")


def test_an_unknown_ssl_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="ssl_mode"):
        target(ssl_mode="sometimes")


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


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), 1e6])
def test_a_timeout_out_of_range_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match=r"--net-timeout must be between 0\.1 and 86,400 seconds"):
        target(net_timeout=seconds)


@pytest.mark.parametrize(
    ("given", "mode", "told"),
    [
        ({"ssl_ca": "ca.pem"}, "verify-ca", 0),
        ({"ssl_ca": "ca.pem", "host": "127.0.0.1"}, "verify-ca", 0),
        ({"ssl_ca": "ca.pem", "ssl_mode": "VERIFY_IDENTITY"}, "verify-identity", 0),
        ({"ssl_ca": "ca.pem", "ssl_mode": "preferred"}, "preferred", 1),
        ({"ssl_ca": "ca.pem", "ssl_mode": "required"}, "required", 1),
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
