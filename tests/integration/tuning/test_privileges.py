"""docs/settings.md, statement by statement: with exactly those it works; without each, it is named."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.integration.observe.test_activity import look
from tests.integration.support import sbtest
from tests.integration.support.commands import Finished, ask, tuibench
from tests.paths import DOCS
from tuibench.base.errors import SQLError
from tuibench.model.server import Flavour, LockKind, Target
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer

PAGE = DOCS / "settings.md"
SMALL = ("--tables=1", "--table-size=100")
LOAD = ("oltp_read_write", *SMALL)
RUN = ("run", *LOAD, "--threads=2", "--events=40", "--time=0", "--client-delay=2ms")
PASSWORD = "Least-Privilege-1"
ACCOUNT, DATABASE = "least@localhost", "of_one_test"
GRANT = re.compile(r"GRANT (?P<privileges>.+) ON (?P<place>\S+) TO \S+;")


def granted(flavour: Flavour) -> dict[str, list[tuple[str, str]]]:
    """By task: each privilege of the page, and where it is granted."""
    _, section = PAGE.read_text().split(f"### {flavour}\n")
    section = section.partition("\n##")[0]
    tasks = re.findall(r"<!-- (\w+) -->\n```sql\n(.*?)```", section, re.DOTALL)
    return {
        task: [
            (privilege.strip(), found["place"].replace("sbtest", DATABASE))
            for found in GRANT.finditer(statements)
            for privilege in found["privileges"].split(",")
        ]
        for task, statements in tasks
    }


class Account:
    """A login with nothing but what it is granted here."""

    def __init__(self, server: PrivateServer, target: Target) -> None:
        self._admin = server.target
        self.target = msgspec.structs.replace(target, user="least", password=PASSWORD)
        self.page = granted(server.binary.flavour)
        if server.binary.flavour is Flavour.MARIADB and server.binary.version_tuple >= (11, 0, 1):
            parts = ("BINLOG ADMIN", "CONNECTION ADMIN", "REPLICATION SLAVE ADMIN")
            self.page["steer"] += [(privilege, "*.*") for privilege in parts]

    async def make(self, *tasks: str) -> None:
        await self.drop()
        await ask(self._admin, f"CREATE USER {ACCOUNT} IDENTIFIED BY '{PASSWORD}'")
        for privilege, place in {pair for task in tasks for pair in self.page[task]}:
            await ask(self._admin, f"GRANT {privilege} ON {place} TO {ACCOUNT}")

    async def revoke(self, privilege: str, place: str) -> None:
        await ask(self._admin, f"REVOKE {privilege} ON {place} FROM {ACCOUNT}")

    async def grant(self, privilege: str, place: str) -> None:
        await ask(self._admin, f"GRANT {privilege} ON {place} TO {ACCOUNT}")

    async def drop(self) -> None:
        await ask(self._admin, f"DROP USER IF EXISTS {ACCOUNT}")

    def run(self, *words: str) -> Finished:
        return tuibench(*words, target=self.target)


@pytest.fixture
async def account(server: PrivateServer, database: Target) -> AsyncIterator[Account]:
    made = Account(server, database)
    yield made
    await made.drop()


def said(ended: Finished) -> str:
    return ended.out + ended.err


async def test_tables_are_made_and_dropped_with_exactly_these(account: Account) -> None:
    await account.make("prepare")
    for command in ("prepare", "cleanup"):
        ended = account.run(command, *LOAD)
        assert ended.code == 0, ended


async def test_each_of_them_is_named_where_it_is_missing(account: Account) -> None:
    await account.make("prepare")
    for privilege, place in account.page["prepare"]:
        await account.revoke(privilege, place)
        ended = [account.run("prepare", *LOAD), account.run("cleanup", *LOAD)]
        await account.grant(privilege, place)
        assert any(each.code for each in ended), privilege
        assert any(privilege in said(each) for each in ended), (privilege, ended)
        account.run("cleanup", *LOAD)


async def test_a_load_runs_with_exactly_these(account: Account) -> None:
    await account.make("prepare")
    assert account.run("prepare", *LOAD).code == 0
    await account.make("run")
    ended = account.run(*RUN)
    assert ended.code == 0, ended
    for privilege, place in account.page["run"]:
        await account.revoke(privilege, place)
        refused = account.run(*RUN)
        found = account.run("doctor", *LOAD)
        await account.grant(privilege, place)
        assert refused.code in (1, 3), refused
        assert privilege in said(refused), refused
        assert privilege in said(found), found


async def test_all_settings_can_be_changed_with_exactly_these(
    account: Account, server: PrivateServer
) -> None:
    await account.make("steer")
    listed = account.run("settings", "list", "--format=json")
    assert listed.code == 0, listed
    settings = [each for each in json.loads(listed.out)["settings"] if each["scope"] == "server"]
    assert [each["name"] for each in settings if "privilege" in each["unavailable"]] == []
    variables = {row[0] for row in await ask(server.target, "SHOW GLOBAL VARIABLES")}
    for setting in settings:
        if setting["name"] in variables and not setting["unavailable"]:
            name = f"GLOBAL {setting['name']}"
            await ask(on_no_database(account.target), f"SET {name} = @@{name.replace(' ', '.')}")
    for privilege, place in account.page["steer"]:
        await account.revoke(privilege, place)
        lacking = account.run("settings", "list")
        await account.grant(privilege, place)
        assert "needs the privilege" in lacking.out
        assert privilege in lacking.out, (privilege, lacking.out)


async def test_a_query_can_be_ended_with_exactly_these(account: Account, server: PrivateServer) -> None:
    await account.make("kill")
    await ask(server.target, f"CREATE USER other@localhost IDENTIFIED BY '{PASSWORD}'")
    login = msgspec.structs.replace(server.target, user="other", password=PASSWORD, database="")
    try:
        async with sbtest.connected(login, use_database=False) as other:
            kill = f"KILL QUERY {other.thread_id}"
            await ask(on_no_database(account.target), kill)
            (pair,) = account.page["kill"]
            await account.revoke(*pair)
            with pytest.raises(SQLError, match=r"(?i)access|owner|privilege"):
                await ask(on_no_database(account.target), kill)
    finally:
        await ask(server.target, "DROP USER other@localhost")


def on_no_database(target: Target) -> Target:
    return msgspec.structs.replace(target, database="")


@contextlib.asynccontextmanager
async def waiters(server: PrivateServer, target: Target) -> AsyncIterator[set[tuple[int, LockKind]]]:
    """Two sessions that wait, for a row and for a table; and for what each waits."""
    holder, writer, altering = sessions = [await connect(target) for _ in range(3)]
    await holder.query("CREATE TABLE held (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
    await holder.query("INSERT INTO held VALUES (1, 1)")
    await holder.query("BEGIN")
    await holder.query("UPDATE held SET v = 2")
    await writer.query("SET innodb_lock_wait_timeout = 1000")
    waits, tasks = set[tuple[int, LockKind]](), []
    try:
        for session, sql, kind in (
            (writer, "UPDATE held SET v = 3", LockKind.ROW),
            (altering, "ALTER TABLE held COMMENT 'x'", LockKind.METADATA),
        ):
            tasks.append(asyncio.create_task(session.query(sql)))
            waits.add((session.thread_id, kind))
            async with asyncio.timeout(60):
                while not waits <= {(each.waiting, each.kind) for each in (await look(server)).waits}:
                    pass
        yield waits
        await holder.query("ROLLBACK")
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        for session in sessions:
            session.abort()


async def test_all_is_seen_with_exactly_these(
    account: Account, server: PrivateServer, database: Target
) -> None:
    """While somebody waits: before, there is nothing that could be hidden."""
    await account.make("watch")
    login = {"user": "least", "password": PASSWORD, "database": ""}
    async with waiters(server, database) as waits:
        activity = await look(server, **login)
        assert activity.gaps == ()
        assert waits <= {(each.waiting, each.kind) for each in activity.waits}
        for privilege, place in account.page["watch"]:
            await account.revoke(privilege, place)
            blind = await look(server, **login)
            await account.grant(privilege, place)
            named = {gap.partition(":")[0] for gap in blind.gaps if privilege in gap}
            assert {
                "PROCESS": {"lock waits", "open transactions", "the last deadlock"},
                "SELECT": {"lock waits", "metadata locks"},
            }[privilege] <= named, (privilege, blind.gaps)
