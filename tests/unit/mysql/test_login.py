"""Logins: passwords, TLS, plugins, refused greetings."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop

from tests.integration.support.processes import gone, until
from tests.unit.mysql.server_packets import packet
from tuibench.base.errors import (
    ExitCode,
    ServerUnavailableError,
    ServerUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.model.server import SslMode, Target
from tuibench.mysql import login
from tuibench.mysql.connection import connect
from tuibench.mysql.errors import ADDRESS_MISMATCH, HOSTNAME_MISMATCH, tls_error
from tuibench.mysql.login import FirstLogin, Handshake, PasswordCache, password_cache, run_password_command
from tuibench.mysql.transport import tls_context

# Passwords from a command: run once for many, remembered for seconds, and never part of an error.


def counting(runs: Path) -> Target:
    """A command that prints a new password each time, and leaves a line for each run."""
    return Target(password_command=f"echo x >> {runs}; echo secret$(wc -l < {runs})")


async def test_a_password_that_is_given_needs_no_command() -> None:
    assert await PasswordCache().of(Target(password="given")) == "given"


async def test_a_thousand_logins_run_the_command_once(tmp_path: Path) -> None:
    runs, known = tmp_path / "runs", PasswordCache()
    answers = await asyncio.gather(*(known.of(counting(runs)) for _ in range(1000)))
    assert set(answers) == {"secret1"}
    assert await known.of(counting(runs)) == "secret1"
    assert runs.read_text() == "x\n"


async def test_a_password_grows_old(tmp_path: Path) -> None:
    known = PasswordCache(good_for_seconds=0)
    target = counting(tmp_path / "runs")
    assert [await known.of(target), await known.of(target)] == ["secret1", "secret2"]


async def test_the_password_command_runs_again_after_a_refusal_of_an_old_password(tmp_path: Path) -> None:
    known, target = PasswordCache(), counting(tmp_path / "runs")
    before = time.monotonic()
    first = await known.of(target)
    assert not known.forget(target, first, since=before)
    second = await known.of(target)
    assert known.forget(target, second, since=time.monotonic())
    third = await known.of(target)
    assert [first, second, third] == ["secret1", "secret2", "secret3"]
    assert known.forget(target, second, since=before), "another login has fetched a new one"
    assert await known.of(target) == third
    assert not known.forget(Target(password="given"), "given", since=time.monotonic())


async def test_every_loop_has_its_own() -> None:
    assert password_cache() is password_cache()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo topsecret; echo no access >&2; exit 3", r"ended with 3: no access"),
        ("echo topsecret; exit 4", r"ended with 4$"),
        ("echo topsecret; kill -9 $$", "was ended by signal 9"),
        ("true", "prints nothing"),
        ("echo topsecret; echo topsecret", "more than one line"),
        ("printf '\\377topsecret'", "not print text"),
    ],
)
async def test_a_command_that_fails_is_one_line_without_what_it_printed(command: str, words: str) -> None:
    with pytest.raises(ServerUnavailableError) as error:
        await run_password_command(command)
    assert "\n" not in str(error.value)
    assert "topsecret" not in str(error.value)
    assert error.value.hint.startswith("run it manually")
    with pytest.raises(ServerUnavailableError, match=words):
        raise ServerUnavailableError(error.value.message)


async def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    for patience in (0.5, 2, 8, 32):  # A busy machine may not even have begun when the time is up.
        with pytest.raises(ServerUnavailableError, match="longer than"):
            await run_password_command(f"sleep 1000 & echo $! > {file}; wait", longest_seconds=patience)
        if file.exists() and (child := file.read_text().strip()):
            break
    assert until(lambda: gone(int(child)))


async def test_the_end_of_the_line_is_no_part_of_the_password() -> None:
    assert await run_password_command("printf 'a b \\r\\n'") == "a b "


# Which targets are encrypted, and what TLS failures are called.


@pytest.mark.parametrize(
    ("target", "encrypted"),
    [
        (Target(host="db"), True),
        (Target(host="db", ssl_mode="disabled"), False),
        (Target(host="127.0.0.1"), False),
        (Target(host="db", socket="/run/db.sock"), False),
        (Target(host="127.0.0.1", ssl_mode="required"), True),
    ],
)
def test_preferred_is_plain_where_nothing_leaves_the_host(target: Target, encrypted: bool) -> None:
    assert login.is_wanted(target, None) == encrypted


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_the_first_login_decides_where_tls_is_preferred(is_encrypted: bool) -> None:
    tls = "TLSv1.3 TLS_AES_256_GCM_SHA384" if is_encrypted else ""
    first = FirstLogin(where="", user="", tls=tls, plugin="")
    assert login.is_wanted(Target(host="db"), first) == is_encrypted
    assert login.is_wanted(Target(host="127.0.0.1"), first) == is_encrypted
    assert login.is_wanted(Target(host="db", ssl_mode="required"), first)
    assert not login.is_wanted(Target(host="db", ssl_mode="disabled"), first)


def test_only_verify_modes_look_at_the_certificate() -> None:
    modes: tuple[SslMode, ...] = ("required", "verify-ca", "verify-identity")
    made = {mode: tls_context(Target(host="db", ssl_mode=mode)) for mode in modes}
    looks = {
        mode: (each.verify_mode == ssl.CERT_REQUIRED, each.check_hostname) for mode, each in made.items()
    }
    assert looks == {
        "required": (False, False),
        "verify-ca": (True, False),
        "verify-identity": (True, True),
    }


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/none\.pem: No such file"):
        tls_context(Target(host="db", ssl_mode="verify-ca", ssl_ca=str(tmp_path / "none.pem")))
    (tmp_path / "text.pem").write_text("no certificate")
    with pytest.raises(UsageError, match="cannot use the TLS files"):
        tls_context(Target(host="db", ssl_mode="required", ssl_cert=str(tmp_path / "text.pem")))


@pytest.mark.parametrize("field", ["ssl_ca", "ssl_cert", "ssl_key"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path, field: str) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(UsageError, match="/pipe: not a regular file"):
        tls_context(Target(host="db", ssl_mode="required", **{field: str(pipe)}))  # type: ignore[arg-type]


def certificate_error(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_code, error.verify_message = code, "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (certificate_error(HOSTNAME_MISMATCH), "is not for 'db'"),
        (certificate_error(ADDRESS_MISMATCH), "is not for 'db'"),
        (certificate_error(18), "is not trusted: self-signed certificate"),
        (ConnectionResetError("reset"), "handshake with db:3306 failed: reset"),
        (TimeoutError(), "handshake with db:3306 failed: TimeoutError"),
    ],
)
def test_a_tls_failure_is_reported_with_the_remedy(error: Exception, words: str) -> None:
    said = tls_error(error, Target(host="db"))
    assert words in said.message
    assert said.hint


# Logging in with ed25519 needs PyNaCl, and says so where it is missing.


async def answer(*_: Any) -> str:
    return "the driver's"


def a_handshake() -> Handshake:
    raw = SimpleNamespace(
        write_packet=None,
        read_packet=None,
        driver_authenticate_with_plugin=answer,
        is_secure=False,
    )
    return Handshake(raw, Target(user="app"), 1.0)


async def test_without_the_library_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "find_spec", lambda name: None)
    with pytest.raises(ServerUnavailableError, match="ed25519, which needs PyNaCl") as refused:
        await a_handshake().authenticate_with_plugin(b"client_ed25519", None)
    assert "tuibench[ed25519]" in refused.value.hint


async def test_with_the_library_the_driver_logs_in() -> None:
    assert await a_handshake().authenticate_with_plugin(b"client_ed25519", None) == "the driver's"


# A server that says why it takes nobody, and hangs up before the client has looked at its socket.


class HungUp(asyncio.SelectorEventLoop):
    """Hands over a connection when the server has closed it, as a busy machine does."""

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        made = await super().create_connection(*arguments, **options)
        return await hung_up(made)


class UvHungUp(uvloop.Loop):
    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        made = await super().create_connection(*arguments, **options)
        return await hung_up(made)


async def hung_up(made: tuple[Any, Any]) -> tuple[Any, Any]:
    """The connection, once its transport knows of the end and has told the driver."""
    while not made[0].is_closing():  # noqa: ASYNC110 (only the loop can tell)
        await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    return made


Loop = Callable[[], asyncio.AbstractEventLoop]
loops = pytest.mark.parametrize("loop", [HungUp, UvHungUp])


def refused(loop: Loop, *greeting: bytes) -> tuple[TuibenchError, str]:
    """The error of a login at a server that sends this and closes, and the server's address."""

    async def login() -> tuple[TuibenchError, str]:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.writelines(greeting)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        target = Target(host="127.0.0.1", port=server.sockets[0].getsockname()[1], user="ann")
        async with server:
            with pytest.raises(TuibenchError) as error:
                await connect(target)
        return error.value, target.where

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(login())


def error_packet(code: int, text: str) -> bytes:
    """Without a state: no capabilities are known yet."""
    return packet(0, b"\xff" + code.to_bytes(2, "little") + text.encode())


@loops
def test_the_servers_reason_is_reported(loop: Loop) -> None:
    error, where = refused(loop, error_packet(1130, "Host 'me' is not allowed to connect"))
    assert error.message == f"cannot log in at {where}: Host 'me' is not allowed to connect (error 1130)"
    assert (error.exit_code, "CREATE USER" in error.hint) == (ExitCode.SERVER_UNAVAILABLE, True)


@loops
def test_too_many_connections_are_known_as_such(loop: Loop) -> None:
    error, where = refused(loop, error_packet(1040, "Too many connections"))
    assert error.message == f"the server at {where} accepts no more connections: Too many connections"


@loops
def test_a_server_that_hangs_up_without_a_word(loop: Loop) -> None:
    error, where = refused(loop)
    assert isinstance(error, ServerUnreachableError)
    assert error.message.startswith(f"cannot reach a server at {where}: ")
    assert "Transport" not in str(error)
    assert error.exit_code == ExitCode.SERVER_UNAVAILABLE
