"""Servers that many tests share, and what a test module must leave as it was.

A server is started when it is wanted first. A visit to it begins with an empty `sbtest` and ends with a
comparison: global variables, databases, accounts and connections must be those of its beginning. A server
that was left changed is thrown away, so that only its visitor fails.
"""

import asyncio
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from tests.integration.support import certificates, sbtest
from tests.integration.support.certificates import Files
from tuibench.base.errors import TuibenchError
from tuibench.load.tables import prepare_tables
from tuibench.model.hardware import Hardware
from tuibench.model.server import Flavour, ServerLimits
from tuibench.mysql.connection import Connection, connect
from tuibench.servers import instance
from tuibench.servers.binaries import Binary
from tuibench.servers.instance import MIB, ServerSpec
from tuibench.servers.process import DirectoryLayout, default_base
from tuibench.servers.server import DATABASE, PrivateServer

LEAVING_SECONDS = 20.0
POLL_SECONDS = 0.05

FRUGAL = ("--loose-innodb-log-writer-threads=OFF",)
"""MySQL: no threads of the redo log that spin while they wait; a commit takes a third less processor time."""

VOLATILE = frozenset(
    {
        "gtid_binlog_pos",
        "gtid_binlog_state",
        "gtid_current_pos",
        "gtid_executed",
        "gtid_purged",
        "init_file",
        "timestamp",
    }
)
"""Variables that change by themselves, or with the first restart."""

EMPTY_DATABASE = (f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")

BACKGROUND = ("event_scheduler", "system user")


class Templates:
    """A data directory of each program to start from: making one takes MySQL three quarters of its start.

    MariaDB makes its own as quickly as it could be copied.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Binary, Path] = {}

    def tls_options(self, binary: Binary) -> tuple[str, ...]:
        """What a server needs to encrypt. MySQL makes a certificate of its own."""
        return self._certificate.server_options if binary.flavour is Flavour.MARIADB else ()

    @functools.cached_property
    def _certificate(self) -> Files:
        return certificates.make(self._folder, "localhost")

    def of(self, binary: Binary) -> Path | None:
        """The program's template; None where it gains nothing."""
        if binary.flavour is Flavour.MARIADB:
            return None
        if binary not in self._made:
            self._made[binary] = self._make(binary)
        return self._made[binary]

    def _make(self, binary: Binary) -> Path:
        layout = DirectoryLayout.create(self._folder)
        spec = ServerSpec(binary=binary, base="", user="", password="", database="", redo_log_bytes=8 * MIB)
        instance.make_data_directory(spec, layout)
        return layout.data


class Starter:
    """Starts servers from templates."""

    def __init__(self, templates: Templates, base: Path | None = None) -> None:
        self._templates = templates
        self._base = base

    async def __call__(
        self,
        binary: Binary,
        *,
        options: Sequence[str] = (),
        keep: bool = False,
        limits: ServerLimits | None = None,
        disk: Hardware | None = None,
    ) -> PrivateServer:
        return await PrivateServer.start(
            binary,
            options=(*FRUGAL, *self._templates.tls_options(binary), *options),
            keep=keep,
            base=self._base,
            template=self._templates.of(binary),
            limits=limits,
            disk=disk,
        )

    def places(self, binary: Binary) -> list[Path]:
        """For another process to start from: the folder for servers, and the template if there is one."""
        template = self._templates.of(binary)
        return [self._base or default_base(), *([template] if template else [])]


class Traces(msgspec.Struct, frozen=True):
    """What visitors could leave on a server."""

    variables: dict[str, str]
    databases: frozenset[str]
    accounts: frozenset[str]
    connections: frozenset[str] = frozenset()

    @classmethod
    async def read(cls, connection: Connection) -> Self:
        variables = await connection.query("SHOW GLOBAL VARIABLES")
        databases = await connection.query("SHOW DATABASES")
        accounts = await connection.query("SELECT user, host FROM mysql.user")
        return cls(
            variables={name: value for name, value in variables if name not in VOLATILE},
            databases=frozenset(name for (name,) in databases),
            accounts=frozenset(f"{user}@{host}" for user, host in accounts),
            connections=await others(connection),
        )

    def since(self, before: Self) -> list[str]:
        """What differs, a line each."""
        names = sorted(self.variables.keys() | before.variables.keys())
        values = [(name, before.variables.get(name), self.variables.get(name)) for name in names]
        changed = [f"{name}: {was!r} became {became!r}" for name, was, became in values if was != became]
        for what in ("databases", "accounts", "connections"):
            left, missed = getattr(self, what), getattr(before, what)
            changed += [f"{what} left: {', '.join(sorted(left - missed))}"] * (not left <= missed)
            changed += [f"{what} gone: {', '.join(sorted(missed - left))}"] * (not missed <= left)
        return changed


async def others(connection: Connection) -> frozenset[str]:
    """Who else is connected; waits a while for those who are just leaving."""
    deadline = asyncio.get_running_loop().time() + LEAVING_SECONDS
    while True:
        rows = await connection.query("SHOW PROCESSLIST")
        found = [row for row in rows if row[0] != connection.thread_id and row[1] not in BACKGROUND]
        if not found or asyncio.get_running_loop().time() > deadline:
            return frozenset(f"{row[1]} ({row[4]} {row[7] or ''})" for row in found)
        await asyncio.sleep(POLL_SECONDS)


class Visit:
    """A while on a shared server, which has nothing in its database at the beginning."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self._before = asyncio.run(self._traces(EMPTY_DATABASE))

    def end(self) -> list[str]:
        """What was left behind, a line each."""
        try:
            return asyncio.run(self._traces()).since(self._before)
        except TuibenchError as error:
            return [str(error)]

    async def _traces(self, statements: Sequence[str] = ()) -> Traces:
        connection = await connect(self.server.target, use_database=False)
        try:
            for sql in statements:
                await connection.execute(sql)
            return await Traces.read(connection)
        finally:
            await connection.close()


class SharedServers:
    """One server of each program, for as long as nobody leaves it changed."""

    def __init__(self, start: Starter) -> None:
        self._start = start
        self._running: dict[Binary, PrivateServer] = {}

    def get(self, binary: Binary) -> PrivateServer:
        if binary not in self._running:
            self._running[binary] = asyncio.run(self._start(binary))
        return self._running[binary]

    def throw_away(self, binary: Binary) -> None:
        asyncio.run(self._running.pop(binary).stop())

    def stop(self) -> None:
        for binary in list(self._running):
            self.throw_away(binary)


class Visits:
    """All visits of one visitor: a test module, or a test."""

    def __init__(self, servers: SharedServers) -> None:
        self._servers = servers
        self._visits: dict[Binary, Visit] = {}
        self._prepared: set[Binary] = set()

    def to(self, binary: Binary) -> PrivateServer:
        """The shared server of a program; empty the first time."""
        if binary not in self._visits:
            self._visits[binary] = Visit(self._servers.get(binary))
        return self._visits[binary].server

    def with_tables(self, binary: Binary) -> PrivateServer:
        """The same, with sbtest1 and sbtest2 of 500 rows each."""
        server = self.to(binary)
        if binary not in self._prepared:
            asyncio.run(prepare_tables(server.target, sbtest.program(table_size=500)))
            self._prepared.add(binary)
        return server

    def end(self) -> list[str]:
        """What was left behind, a line each. A server that was left changed is thrown away."""
        found: list[str] = []
        for binary, visit in self._visits.items():
            left = visit.end()
            if left:
                self._servers.throw_away(binary)
            found += [f"{binary.flavour}: {line}" for line in left]
        return found
