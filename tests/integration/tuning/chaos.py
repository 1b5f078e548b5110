"""Random sequences of mishaps on a real server with real processes: in the end it has the values it had.

    python -m tests.integration.tuning.chaos --sequences 50 --seed 1 [--engine NAME] [--server PATH]
    make chaos ARGS=…

Sessions of two homes, and of another host whose locks are not seen, change settings, to values that the
server rounds, too, and die with `kill -9`, alone or with their guardian, at any point of a change; replies
are lost; the server restarts, also with another configuration, or crashes; strangers set values; homes are
deleted or moved, their disk is full or read-only. What must be in the end: what was configured, or what the
last stranger set; and each session's load, on the engine of that name, goes on.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.integration.load.conformance.driving import ENGINES
from tests.integration.support import sbtest
from tests.integration.support.commands import tuibench
from tests.integration.support.processes import gone, until
from tests.integration.support.shared import Starter, Templates
from tests.integration.tuning.chaos_session import DISKS, LOSSES, POINTS
from tests.paths import ROOT
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.mysql.info import server_info
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import SETTINGS
from tuibench.tuning.connection import AdminConnection, admin_connector
from tuibench.tuning.guardian import GUARDIAN_RETRY_SECONDS
from tuibench.tuning.restore import leftovers

OURS = {
    "innodb_flush_log_at_trx_commit": ("0", "2"),
    "sync_binlog": ("0", "2", "100"),
    "innodb_io_capacity": ("150", "1200"),
    "innodb_io_capacity_max": ("30000", "25000"),
    "long_query_time": ("0.5", "2"),
    "innodb_lock_wait_timeout": ("7", "9"),
}
FOREIGN = {
    "sync_binlog": ("7", "8"),
    "long_query_time": ("3.000000", "4.000000"),
    "binlog_cache_size": ("131072", "262144"),
}
OFF_GRID = {
    "innodb_log_write_ahead_size": ("513", "5841"),
    "innodb_old_blocks_pct": ("55", "83"),
    "query_cache_size": ("30000", "3261073"),
}
"""Of other settings that the server rounds: a share of the configured value, and a byte."""
MOST_SESSIONS = 3
STEPS = 9
ANSWER_SECONDS = 300.0
"""A process that gets hardly any of a busy host's time still answers."""
PATIENCE_SECONDS = GUARDIAN_RETRY_SECONDS + 120
"""A guardian waits for the lock that a session of the other home has on the server."""
CONFIGURATIONS = (
    ("--sync-binlog=0", {"sync_binlog": "0"}),
    ("--long-query-time=2", {"long_query_time": "2.000000"}),
)
"""Other configurations of the server, with values that sessions set, too."""


class Session:
    """A process that changes settings, and its guardian."""

    def __init__(
        self, name: str, target: Target, engine: str, env: Mapping[str, str], home: Path, *, is_far: bool
    ) -> None:
        self.name = name
        self.home = home
        self.guardian_pid = 0
        far = ["far"] if is_far else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.tuning.chaos_session", name, engine, *far],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**env, "TUIBENCH_HOME": str(home)},
            cwd=ROOT,
        )
        assert self.ask(msgspec.json.encode(target).decode()) is not None

    def ask(self, order: str) -> str | None:
        """Gives an order; what came of it, None if the session died of it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(order.encode() + b"\n")
        self._process.stdin.flush()
        pid, _, text = self._process.stdout.readline().decode().strip().partition(" ")
        if not pid:
            return None
        self.guardian_pid = int(pid)
        return text

    def kill(self) -> None:
        self._process.kill()
        self._let_go()

    def kill_guardian(self) -> None:
        os.kill(self.guardian_pid, signal.SIGKILL)
        assert until(lambda: gone(self.guardian_pid))

    def end(self) -> str:
        text = self.ask("end")
        self._let_go()
        assert text is not None
        return text

    def _let_go(self) -> None:
        self._process.wait(ANSWER_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


class Chaos:
    """One sequence. `told` is what happened, in words, for a sequence that ends badly.

    With `encrypts`, sessions and loads use TLS. `deaths` counts the points of a change at which a session
    died, or a reply was lost.
    """

    def __init__(self, server: PrivateServer, seed: int, engine: str, *, encrypts: bool = False) -> None:
        self.told: list[str] = []
        self.deaths: Counter[str] = Counter()
        self._ours: dict[str, tuple[str, ...]] = {}
        self._server = server
        self._target = sbtest.over_tcp(server.target, ssl_mode="required") if encrypts else server.target
        self._engine = engine
        self._draw = random.Random(seed)
        self._folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
        self._homes = [self._folder / name for name in ("a", "b")]
        self._env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._sessions: list[Session] = []
        self._waiting: list[Session] = []
        self._admin = AdminConnection(admin_connector(server.target))
        self._started = 0
        self._configured: dict[str, str] = {}
        self._baseline: dict[str, str] = {}

    async def play(self) -> None:
        """Raises AssertionError, with all that happened, if the server is not as it was."""
        self._ours = OURS | await self._off_grid()
        self._configured = await self._admin.values(self._ours)
        self._baseline = dict(self._configured)
        try:
            for _ in range(STEPS):
                await self._step()
            await self._end()
        except BaseException as error:
            error.add_note("\n".join(self.told))
            raise
        finally:
            await self._clean_up()

    async def _off_grid(self) -> dict[str, tuple[str, ...]]:
        """Values that this server rounds, of all its settings of which the catalogue says so."""
        connection = await connect(self._server.target)
        missing = await catalogue.unavailable_settings(self._admin, await server_info(connection))
        await connection.close()
        names = [one.name for one in SETTINGS if one.rounding and one.name not in missing]
        values = await self._admin.values(names)
        shares = {
            name: tuple(str(int(int(values[name]) * each) + 1) for each in (1.37, 0.713)) for name in names
        }
        return shares | {name: OFF_GRID[name] for name in names if name in OFF_GRID}

    async def _step(self) -> None:
        mishaps = {
            self._start: 3,
            self._change: 8,
            self._die_in_a_change: 5,
            self._lose_replies: 3,
            self._kill_session: 2,
            self._kill_guardian: 2,
            self._kill_both_and_restore: 2,
            self._end_one: 2,
            self._stranger: 2,
            self._restart: 1,
            self._die_while_the_server_is_away: 1,
            self._restart_otherwise: 1,
            self._lose_home: 2,
            self._disk: 2,
        }
        (mishap,) = self._draw.choices(list(mishaps), list(mishaps.values()))
        await mishap()

    async def _start(self) -> None:
        if len(self._sessions) < MOST_SESSIONS:
            self._started += 1
            name = f"s{self._started}"
            (home,) = self._draw.choices(self._homes, (3, 1))
            is_far = self._draw.random() < 0.2
            made = Session(name, self._target, self._engine, self._env, home, is_far=is_far)
            self._sessions.append(made)
            self.told.append(f"{name} starts in home {home.name}{' on another host' if is_far else ''}")

    async def _change(self) -> None:
        await self._change_with("set")

    async def _lose_replies(self) -> None:
        """One, or also that to the repeated statement."""
        lost = "+".join(self._draw.choice(LOSSES) for _ in range(self._draw.randint(1, 2)))
        await self._change_with(f"lose {lost}")

    async def _die_in_a_change(self) -> None:
        """Alone, or after its guardian."""
        point, is_guarded = self._draw.choice(POINTS), self._draw.random() < 0.6
        session = await self._change_with(f"die {point}", is_guarded=is_guarded)
        if session not in self._sessions:
            if is_guarded:
                self._wait_for_guardian(session)
            else:
                self._restore()

    async def _change_with(self, order: str, *, is_guarded: bool = True) -> Session:
        if not self._sessions:
            await self._start()
        session = self._draw.choice(self._sessions)
        if not (is_guarded or gone(session.guardian_pid)):
            session.kill_guardian()
        name = self._draw.choice(list(self._ours))
        if self._draw.random() < 0.6:
            name = self._draw.choice([name for name in self._ours if name not in OURS])
        self._order(session, f"{order} {name} {self._draw.choice(self._ours[name])}")
        return session

    async def _kill_session(self) -> None:
        """Its guardian puts back what it can."""
        if session := self._pick():
            session.kill()
            self.told.append(f"{session.name} killed")
            self._wait_for_guardian(session)

    def _wait_for_guardian(self, session: Session) -> None:
        """Until it is done, unless a session of the other home may have the server's lock, which it needs."""
        if all(other.home == session.home for other in self._sessions):
            assert until(lambda: gone(session.guardian_pid), PATIENCE_SECONDS)
        else:
            self._waiting.append(session)

    async def _kill_guardian(self) -> None:
        if self._sessions:
            session = self._draw.choice(self._sessions)
            if not gone(session.guardian_pid):
                session.kill_guardian()
                self.told.append(f"the guardian of {session.name} killed")

    async def _kill_both_and_restore(self) -> None:
        if session := self._pick():
            if not gone(session.guardian_pid):
                session.kill_guardian()
            session.kill()
            self.told.append(f"{session.name} and its guardian killed")
            self._restore()

    async def _end_one(self) -> None:
        if session := self._pick():
            self.told.append(f"{session.name} ends: {session.end()}")

    async def _stranger(self) -> None:
        name = self._draw.choice(list(FOREIGN))
        self._baseline[name] = self._draw.choice(FOREIGN[name])
        await self._admin.set_global(name, self._baseline[name])
        self.told.append(f"a stranger sets {name} to {self._baseline[name]}")

    async def _restart(self) -> None:
        await self._server.restart()
        self._is_new("restarted")
        for session in self._sessions:
            if self._draw.random() < 0.5:
                self._order(session, "noticed")

    async def _die_while_the_server_is_away(self) -> None:
        """The guardian has to wait for the server."""
        session = self._pick()
        await self._server.kill()
        if session:
            session.kill()
            self.told.append(f"{session.name} killed while the server is away")
        await self._server.start_again()
        self._is_new("killed and started again")
        if session:
            self._wait_for_guardian(session)

    async def _restart_otherwise(self) -> None:
        """With a configuration of the value that a session may have set: it is the server's own now."""
        option, values = self._draw.choice(CONFIGURATIONS)
        await self._server.restart([option])
        self._is_new(f"restarted with {option}", values)

    def _is_new(self, how: str, values: Mapping[str, str] = {}) -> None:
        self.told.append(f"the server is {how}")
        self._baseline = {**self._configured, **values}

    async def _lose_home(self) -> None:
        """Deleted or moved; one of its sessions may be killed before it has noticed."""
        home = self._draw.choice(self._homes)
        mine = [session for session in self._sessions if session.home == home]
        if not mine or any(
            session.home == home and not gone(session.guardian_pid) for session in self._waiting
        ):
            return
        if self._draw.random() < 0.5:
            shutil.rmtree(home, ignore_errors=True)
            self.told.append(f"home {home.name} deleted")
        elif home.exists():
            home.rename(self._folder / f"moved{self._started}{len(self.told)}")
            self.told.append(f"home {home.name} moved")
        victim = self._draw.choice(mine)
        if self._draw.random() < 0.5 and not gone(victim.guardian_pid):
            self._sessions.remove(victim)
            victim.kill()
            self.told.append(f"{victim.name} killed")
        for session in mine:
            if session in self._sessions:
                self._order(session, "sample")
        if victim not in self._sessions:
            self._wait_for_guardian(victim)

    async def _disk(self) -> None:
        """Of a session's home: full, read-only, or well again."""
        if self._sessions:
            self._order(self._draw.choice(self._sessions), f"disk {self._draw.choice(list(DISKS))}")

    def _order(self, session: Session, order: str) -> None:
        """One that dies of an order has been told to."""
        said = session.ask(order)
        self.told.append(f"{session.name}: {order}: {'dead' if said is None else said}")
        verb, how, *_ = *order.split(), ""
        if said is None:
            assert verb == "die"
            session.kill()
            self._sessions.remove(session)
        if said is None or verb == "lose":
            self.deaths[f"{verb} {how}"] += 1

    def _pick(self) -> Session | None:
        """One session less."""
        if not self._sessions:
            return None
        return self._sessions.pop(self._draw.randrange(len(self._sessions)))

    def _restore(self) -> None:
        """In both homes. What is not restored is said, and in the exit code."""
        for home in self._homes:
            env = {**self._env, "TUIBENCH_HOME": str(home)}
            done = tuibench(
                "restore", "--wait=1", target=self._server.target, env=env, seconds=ANSWER_SECONDS
            )
            self.told.append(
                f"tuibench restore in {home.name} ({done.code}): {done.out.strip()} {done.err.strip()}"
            )
            assert "Traceback" not in done.err
            assert done.code in (0, 5)
            assert done.code == 5 or not leftovers(home / "state" / "journal")

    async def _end(self) -> None:
        while self._sessions:
            await self._end_one()
        for session in self._waiting:
            assert until(lambda pid=session.guardian_pid: gone(pid), PATIENCE_SECONDS)  # type: ignore[misc]
        # Twice: what one home restores first may be what the other one waits for.
        self._restore()
        self._restore()
        found = await self._admin.values(self._ours)
        assert found == self._baseline, f"{found} instead of {self._baseline}"
        await self._settle_unclear()
        assert not list(self._folder.rglob("*.jsonl"))

    async def _settle_unclear(self) -> None:
        """What a stranger set over a change without an answer stays in the journal, and is told."""
        said = "\n".join(self.told[-len(self._homes) :])
        for home in self._homes:
            for leftover in leftovers(home / "state" / "journal"):
                for setting in leftover.settings:
                    assert setting.name in FOREIGN, setting
                    assert f"{setting.name} stays {self._baseline[setting.name]} and in the journal" in said
                    await self._admin.set_global(setting.name, setting.original)
        self._restore()

    async def _clean_up(self) -> None:
        for session in (*self._sessions, *self._waiting):
            session.kill()
            until(lambda pid=session.guardian_pid: gone(pid), ANSWER_SECONDS)  # type: ignore[misc]
        for name, value in self._configured.items():
            await self._admin.set_global(name, value)
        await self._admin.close()
        shutil.rmtree(self._folder)


async def play(sequences: int, seed: int, engine: str, program: str | None, *, encrypts: bool) -> int:
    """The number of sequences that ended badly."""
    failed, deaths = 0, Counter[str]()
    binary = binaries.inspect_binary(program) if program else binaries.find_binary()
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    async with await Starter(Templates(folder))(binary) as server:
        print(f"{server.binary}: {sequences} sequences from seed {seed}", flush=True)  # noqa: T201
        begun = time.monotonic()
        for number in range(seed, seed + sequences):
            chaos = Chaos(server, number, engine, encrypts=encrypts)
            try:
                await chaos.play()
            except AssertionError as error:
                failed += 1
                account = "\n  ".join(chaos.told)
                print(f"seed {number}: {error}\n  {account}", flush=True)  # noqa: T201
            deaths += chaos.deaths
        seconds = time.monotonic() - begun
        print(", ".join(f"{how}: {times}" for how, times in sorted(deaths.items())))  # noqa: T201
        print(f"{sequences - failed} of {sequences} ended as they began, in {seconds:.0f} s")  # noqa: T201
    shutil.rmtree(folder)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=ENGINES, default="asyncio", help="what runs the load")
    parser.add_argument("--tls", action="store_true", help="over TLS")
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    options = parser.parse_args()
    failed = asyncio.run(
        play(options.sequences, options.seed, options.engine, options.server, encrypts=options.tls)
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
