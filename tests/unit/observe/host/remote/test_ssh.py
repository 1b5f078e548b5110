"""The ssh of the system, played by a script that runs the command on this host, or fails as ssh does."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.observe.host.remote.test_proc_text import SERVER
from tuibench.observe.host.remote.source import HostSourceError, parse_host_metrics
from tuibench.observe.host.remote.ssh import SshSource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the command reads /proc")

RUNS = '#!/bin/sh\nfor last; do :; done\necho "$@" > "{log}"\nexec sh -c "$last"\n'
REFUSES = (
    '#!/bin/sh\necho "Warning: known" >&2\necho "ann@db1: Permission denied (publickey)." >&2\nexit 255\n'
)


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that stands for ssh; its arguments are in the file `log` beside it."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    script = tmp_path / "ssh"
    play(script, RUNS.format(log=tmp_path / "log"))
    return script


def play(script: Path, text: str) -> None:
    script.write_text(text)
    script.chmod(0o755)


def source(**server: object) -> SshSource:
    return SshSource(parse_host_metrics("ssh:ann@db1:2222"), replace(SERVER, **server))


async def test_this_host_over_ssh(fake_ssh: Path, tmp_path: Path) -> None:
    (tmp_path / "my pid").write_text(f"{os.getpid()}\n")
    reader = source(pid_file=str(tmp_path / "my pid"), datadir=f"{Path.cwd()}/")
    try:
        first, second = await reader.read(), await reader.read()
    finally:
        await reader.close()
    assert (first.server_pid, first.note) == (os.getpid(), "")
    assert first.cores == second.cores == os.cpu_count()
    assert second.totals.at_ns >= first.totals.at_ns
    assert 0 < second.totals.machine.busy < second.totals.machine.total
    assert second.totals.processes[os.getpid()] > 0
    assert second.totals.switches is not None
    assert (second.totals.memory.server or 0) > 1e6
    arguments = (tmp_path / "log").read_text()
    assert "-oBatchMode=yes" in arguments
    assert "-p 2222 -l ann -- db1 exec sh -c" in arguments


async def test_a_refusal_is_in_the_words_of_ssh(fake_ssh: Path) -> None:
    play(fake_ssh, REFUSES)
    with pytest.raises(HostSourceError, match=r"^ssh db1: ann@db1: Permission denied \(publickey\)\.$"):
        await source().read()


async def test_a_lost_connection_is_opened_again(fake_ssh: Path) -> None:
    reader = source()
    try:
        await reader.read()
        process = reader._process
        assert process is not None
        process.kill()
        with pytest.raises(HostSourceError, match="ssh db1: the connection was closed"):
            await reader.read()
        assert (await reader.read()).cores == os.cpu_count()
    finally:
        await reader.close()
    assert process.returncode is not None


async def test_without_ssh_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostSourceError, match=r"ssh db1: .*No such file"):
        await source().read()


async def test_the_command_ends_with_its_input(fake_ssh: Path) -> None:
    reader = source()
    await reader.read()
    process = reader._process
    await reader.close()
    assert process is not None
    assert process.returncode is not None
