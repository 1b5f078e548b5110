"""Commands that carry an agent's bytes: their words, their environment, what they say when they fail."""

import asyncio
import sys
from pathlib import Path

import pytest

from tuibench.clock import SystemClock
from tuibench.errors import RunError
from tuibench.load.cluster.carrier import CommandCarrier, carriers_of, exec_carrier, ssh_carrier
from tuibench.load.cluster.host import CommandTiming, HostLink
from tuibench.model.cluster.plan import ClusterPlan


def words(carrier: object) -> tuple[str, ...]:
    assert isinstance(carrier, CommandCarrier)
    return carrier._words


@pytest.mark.parametrize(
    ("host", "end"),
    [
        ("a", ("--", "a")),
        ("ann@a.example", ("--", "ann@a.example")),
        ("a:2222", ("-p", "2222", "--", "a")),
        ("[::1]:22", ("-p", "22", "--", "::1")),
        ("fe80::1", ("--", "fe80::1")),
    ],
)
def test_ssh_asks_no_question_and_takes_a_port(host: str, end: tuple[str, ...]) -> None:
    given = words(ssh_carrier(host, "/opt/tb/bin/tuibench"))
    assert given[0] == "ssh"
    assert "BatchMode=yes" in given
    assert given[-len(end) - 1 :] == (*end, "/opt/tb/bin/tuibench agent")


def test_each_place_has_its_carrier() -> None:
    plan = ClusterPlan(places=("ssh:a", "exec:docker exec -i x tuibench agent"), program="tb")
    assert [words(carrier)[-1] for carrier in carriers_of(plan)] == ["tb agent", "agent"]


async def test_the_passwords_of_our_environment_stay_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    seen = tmp_path / "environment"
    script = f"import os; open({str(seen)!r}, 'w').write(repr(dict(os.environ)))"
    wire = await CommandCarrier("a", (sys.executable, "-c", script), "").open()
    await wire.reader.read()
    await wire.close()
    assert "secret" not in seen.read_text()
    assert "/tmp/agent" in seen.read_text()


async def connect(command: str) -> None:
    plan = ClusterPlan(places=("exec:x",))
    await HostLink.connect(exec_carrier(command, "east"), plan, CommandTiming(SystemClock()))


async def test_a_failed_command_is_reported_with_its_last_lines() -> None:
    with pytest.raises(
        RunError, match=r"host east runs no agent: Permission denied \(publickey\)\..*try: sh -c"
    ):
        await connect(
            "sh -c 'echo hello; echo connecting >&2; echo \"Permission denied (publickey).\" >&2; exit 255'"
        )


async def test_a_failed_command_without_output_is_reported_with_its_exit_code() -> None:
    with pytest.raises(RunError, match="its command ended with exit code 7"):
        await connect("sh -c 'exit 7'")


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(RunError, match="/nowhere/kubectl cannot be started: No such file"):
        await connect("/nowhere/kubectl exec")


async def test_a_command_that_sends_no_frames_is_refused() -> None:
    script = "printf '\\ntuibench agent speaks\\nGarbage and more garbage'"
    with pytest.raises(RunError, match="host east runs no agent"):
        await connect(f'sh -c "{script}"')


async def test_an_agent_ends_with_its_stdin_and_leaves_no_process() -> None:
    command = f"{sys.executable} -m tuibench agent"
    host = await HostLink.connect(
        exec_carrier(command, "east"),
        ClusterPlan(places=("exec:x",), lease_seconds=60.0),
        CommandTiming(SystemClock()),
    )
    assert host.hello.cores >= 1
    assert host.offset.is_known
    process = host._wire.process  # type: ignore[attr-defined]
    await host.end()
    assert process.returncode == 0


async def test_an_agent_by_hand_says_what_it_is_for() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tuibench",
        "agent",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, talk = await process.communicate()
    assert process.returncode == 2
    assert b"a session starts it: tuibench run PROFILE --cluster ssh:host1,host2" in talk
