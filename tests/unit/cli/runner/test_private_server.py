"""A private server of a command: what happens when it ends by itself."""

from pathlib import Path

import pytest

from tuibench.cli.options.private_server_options import PrivateServerOptions
from tuibench.cli.runner import private_server as runner
from tuibench.errors import RunError, ServerUnavailableError


class PlayedServer:
    """A server that is played; `end` is the reason why it ended."""

    directory = Path("/var/tmp/x")

    def __init__(self) -> None:
        self.log: list[str] = []
        self.end: ServerUnavailableError | None = None

    async def check_running(self) -> None:
        if self.end is not None:
            raise self.end

    async def stop(self) -> None:
        self.log.append("stop")

    def release(self) -> None:
        self.log.append("release")

    def how_to_reach(self) -> str:
        return "connect: here"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PlayedServer:
    played = PlayedServer()

    async def start(*_arguments: object, **_options: object) -> PlayedServer:
        return played

    monkeypatch.setattr(runner, "_start_server", start)
    return played


def test_a_server_that_runs_is_stopped(server: PlayedServer) -> None:
    with runner.private_server("", PrivateServerOptions()):
        assert server.log == []
    assert server.log == ["stop"]


def run_command(failure: RunError | None) -> None:
    with runner.private_server("", PrivateServerOptions()):
        if failure is not None:
            raise failure


@pytest.mark.parametrize("failure", [None, RunError("the run ended without a result")])
def test_the_end_of_the_server_is_the_reason(server: PlayedServer, failure: RunError | None) -> None:
    server.end = ServerUnavailableError("the kernel killed it")
    with pytest.raises(ServerUnavailableError, match="the kernel killed it"):
        run_command(failure)
    assert server.log == ["stop"]


def test_another_error_stays_what_it_is(server: PlayedServer) -> None:
    with (
        pytest.raises(RunError, match="without a result"),
        runner.private_server("", PrivateServerOptions()),
    ):
        raise RunError("the run ended without a result")
    assert server.log == ["stop"]


@pytest.mark.parametrize(
    ("end", "said"),
    [(None, "connect: here"), (ServerUnavailableError("gone"), "its files: /var/tmp/x")],
)
def test_a_server_that_is_kept(
    server: PlayedServer,
    capsys: pytest.CaptureFixture[str],
    end: ServerUnavailableError | None,
    said: str,
) -> None:
    server.end = end
    try:
        with runner.private_server("", PrivateServerOptions(), keep=True):
            pass
    except ServerUnavailableError as error:
        assert error is end  # noqa: PT017
    assert server.log == ["release"]
    assert said in capsys.readouterr().err
