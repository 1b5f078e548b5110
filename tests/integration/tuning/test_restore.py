"""Settings on real servers: changed, read back, and put back whatever becomes of those who changed them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests import guardians
from tests.integration.support.processes import gone, until
from tests.integration.support.steering import a_user, opened, steering_privileges
from tests.paths import ROOT
from tuibench.base.errors import SQLError
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection, OwnConnections, connect
from tuibench.servers.server import PrivateServer
from tuibench.tuning.connection import AdminConnection, admin_connector
from tuibench.tuning.journal import journal_path
from tuibench.tuning.restore import RestoreOutcome, leftovers, restore_leftover
from tuibench.tuning.server_lock import ServerLockError

DURABILITY = ("innodb_flush_log_at_trx_commit", "sync_binlog")
DURABLE = dict.fromkeys(DURABILITY, "1")
UNSAFE = dict.fromkeys(DURABILITY, "0")

Server = PrivateServer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
async def admin(server: PrivateServer) -> AsyncIterator[AdminConnection]:
    """Somebody else on the server, who finds it durable."""
    control = AdminConnection(admin_connector(server.target))
    for name in DURABILITY:
        await control.set_global(name, "1")
    yield control
    await control.close()


@pytest.fixture
def changer(server: PrivateServer, admin: AdminConnection) -> Iterator["Changer"]:
    changer = Changer(server.target)
    yield changer
    changer.end()


class Changer:
    """A process that has set the server to unsafe, and its guardian."""

    def __init__(self, target: Target, *kept: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.tuning.changer", "changer", "unsafe", *kept],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(msgspec.json.encode(target) + b"\n")
        self.guardian_pid = int(self.process.stdout.readline())

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        assert until(lambda: gone(self.guardian_pid))


async def test_a_foreign_change_stays(server: Server, admin: AdminConnection) -> None:
    tuner = await opened(server.target)
    await tuner.apply("unsafe")
    await admin.set_global("sync_binlog", "7")
    outcomes = {one.setting: one.outcome for one in await tuner.restore()}
    assert outcomes == {DURABILITY[0]: RestoreOutcome.RESTORED, "sync_binlog": RestoreOutcome.LEFT}
    assert await admin.values(DURABILITY) == {DURABILITY[0]: "1", "sync_binlog": "7"}
    await tuner.close()


async def test_statements_are_counted_as_the_server_counts_them(
    server: Server, admin: AdminConnection
) -> None:
    own = OwnConnections()
    tuner = await opened(server.target, own=own)
    observer = await connect(server.target)
    before, ours = await questions(observer), own.statements
    await tuner.apply("unsafe")
    await tuner.restore()
    assert await questions(observer) - before == own.statements - ours + 1
    await observer.close()
    await tuner.close()


async def questions(connection: Connection) -> int:
    """The server's count of statements, this one included."""
    ((_, value),) = await connection.query("SHOW GLOBAL STATUS LIKE 'Questions'")
    return int(value)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.one_flavour) for each in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
async def test_the_guardian_restores_after_a_killed_session(
    changer: Changer, admin: AdminConnection, number: signal.Signals
) -> None:
    assert await admin.values(DURABILITY) == UNSAFE
    changer.kill(number)
    assert until(lambda: gone(changer.guardian_pid))
    assert await admin.values(DURABILITY) == DURABLE
    assert not journal_path("changer").exists()


@pytest.mark.parametrize("kept", [("sync_binlog",), DURABILITY])
async def test_the_guardian_leaves_what_was_kept(
    server: Server, admin: AdminConnection, kept: tuple[str, ...]
) -> None:
    changer = Changer(server.target, *kept)
    try:
        assert await admin.values(DURABILITY) == UNSAFE
        changer.kill()
        assert until(lambda: gone(changer.guardian_pid))
        assert await admin.values(DURABILITY) == DURABLE | dict.fromkeys(kept, "0")
        assert not journal_path("changer").exists()
        assert leftovers() == []
    finally:
        changer.end()
        for name in kept:
            await admin.set_global(name, "1")


async def test_what_was_kept_is_lost_with_a_restart(restartable: PrivateServer) -> None:
    tuner = await opened(restartable.target)
    await tuner.apply("unsafe")
    await tuner.keep_values()
    assert await tuner.restore() == []
    await tuner.close()
    await restartable.kill()
    await restartable.start_again()
    control = AdminConnection(admin_connector(restartable.target))
    assert await control.values(DURABILITY) == DURABLE
    await control.close()


async def test_the_guardian_waits_for_a_server_that_restarts(restartable: PrivateServer) -> None:
    changer = Changer(restartable.target)
    await restartable.kill()
    changer.kill()
    await restartable.start_again()
    admin = AdminConnection(admin_connector(restartable.target))
    configured = await admin.values(DURABILITY)
    assert configured == DURABLE
    changer.end()
    assert not journal_path("changer").exists()
    assert await admin.values(DURABILITY) == DURABLE
    await admin.close()


async def test_a_restarted_server_keeps_its_own_values(restartable: PrivateServer) -> None:
    changer = Changer(restartable.target)
    os.kill(changer.guardian_pid, signal.SIGKILL)
    changer.kill()
    changer.end()
    (left,) = leftovers()
    await restartable.restart(["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"])
    restored = await restore_leftover(left, restartable.target)
    admin = AdminConnection(admin_connector(restartable.target))
    found = await admin.values(DURABILITY)
    await admin.close()
    await restartable.restart()
    assert {one.outcome for one in restored} == {RestoreOutcome.LEFT}
    assert all("the server was started after tuibench set it" in one.text for one in restored)
    assert found == {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
    assert leftovers() == []


async def test_the_guardian_restores_though_the_home_is_deleted(
    home: Path, changer: Changer, admin: AdminConnection
) -> None:
    shutil.rmtree(home)
    changer.kill()
    assert until(lambda: gone(changer.guardian_pid))
    assert await admin.values(DURABILITY) == DURABLE
    assert leftovers() == []


async def test_a_second_home_is_told_who_has_changed_the_server(
    server: Server, changer: Changer, admin: AdminConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path / "other"))
    tuner = await opened(server.target, "second")
    told = r"another tuibench, of another home or host, .* connection \d+ \(tuibench@localhost"
    with pytest.raises(ServerLockError, match=told):
        await tuner.change("sync_binlog", "7")
    assert await admin.values(DURABILITY) == UNSAFE
    changer.kill()
    assert until(lambda: gone(changer.guardian_pid))
    assert (await tuner.change("sync_binlog", "7")).value == "7"
    await tuner.restore()
    await tuner.close()
    assert await admin.values(DURABILITY) == DURABLE


async def test_restore_finds_what_session_and_guardian_left(
    server: Server, changer: Changer, admin: AdminConnection
) -> None:
    assert leftovers() == []
    os.kill(changer.guardian_pid, signal.SIGKILL)
    changer.kill()
    assert until(lambda: gone(changer.guardian_pid))
    assert await admin.values(DURABILITY) == UNSAFE
    (left,) = leftovers()
    assert [(one.name, one.original, one.last) for one in left.settings] == [
        (name, "1", "0") for name in DURABILITY
    ]
    assert server.target.password not in left.path.read_text()
    restored = await restore_leftover(left, server.target)
    assert [one.outcome for one in restored] == [RestoreOutcome.RESTORED, RestoreOutcome.RESTORED]
    assert await admin.values(DURABILITY) == DURABLE
    assert leftovers() == []
    assert await restore_leftover(left, server.target) == []


async def test_a_killed_guardian_is_replaced_before_the_next_change(
    server: Server, admin: AdminConnection
) -> None:
    watching = await guardians.started(server.target, journal_path("test"))
    tuner = await opened(server.target, guard=watching.ensure_alive)
    await tuner.change("sync_binlog", "0")
    first = watching.pid
    os.kill(first, signal.SIGKILL)
    assert until(lambda: gone(first))
    await tuner.change("sync_binlog", "2")
    assert watching.pid != first
    await tuner.close()
    assert await watching.release(wait_seconds=30)
    assert await admin.values(DURABILITY) == DURABLE


async def test_a_privilege_lost_meanwhile_is_the_servers_refusal_in_words(
    server: Server, admin: AdminConnection
) -> None:
    async with a_user(server, "fallen", *steering_privileges(server)) as fallen:
        tuner = await opened(fallen)
        await tuner.change("sync_binlog", "0")
        root = await connect(server.target)
        privileges = ", ".join(steering_privileges(server))
        await root.query(f"REVOKE {privileges} ON *.* FROM fallen@localhost")
        theirs = "SELECT id FROM information_schema.processlist WHERE user = 'fallen'"
        for (number,) in await root.query(theirs):
            await root.query(f"KILL {number}")
        await root.close()
        with pytest.raises(SQLError, match=r"this login cannot change innodb_flush_log_at_trx_commit") as no:
            await tuner.change("innodb_flush_log_at_trx_commit", "0")
        assert no.value.code == 1227
        assert tuner.journal.ledger.open_settings == ("sync_binlog",)
        (refused,) = await tuner.restore()
        assert refused.outcome == RestoreOutcome.REFUSED
        assert refused.pending
        await tuner.close()
    (left,) = leftovers()
    await restore_leftover(left, server.target)
    assert await admin.values(DURABILITY) == DURABLE


async def test_a_role_counts_as_a_privilege(server: Server, admin: AdminConnection) -> None:
    whom = "FOR" if server.binary.flavour is Flavour.MARIADB else "TO"
    async with a_user(server, "member") as member:
        root = await connect(server.target)
        await root.query("CREATE ROLE boss")
        await root.query(f"GRANT {', '.join(steering_privileges(server))} ON *.* TO boss")
        await root.query("GRANT boss TO member@localhost")
        await root.query(f"SET DEFAULT ROLE boss {whom} member@localhost")
        tuner = await opened(member)
        assert not any("privilege SUPER" in state.unavailable for state in tuner.known)
        assert (await tuner.change("sync_binlog", "0")).value == "0"
        await tuner.restore()
        await tuner.close()
        await root.query("DROP ROLE boss")
        await root.close()


async def test_the_session_survives_a_restart_of_the_server(restartable: PrivateServer) -> None:
    tuner = await opened(restartable.target)
    await tuner.apply("unsafe")
    await restartable.restart()
    assert not any(state.changed for state in await tuner.states())
    await tuner.change("sync_binlog", "0")
    outcomes = {one.setting: one.outcome for one in await tuner.restore()}
    assert outcomes == {DURABILITY[0]: RestoreOutcome.UNCHANGED, "sync_binlog": RestoreOutcome.RESTORED}
    await tuner.close()
