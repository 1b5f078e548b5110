"""What stands behind the start form in tests: scripted answers, and a record of what was asked."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from tuibench.base.errors import TuibenchError
from tuibench.features.start.screen import (
    FormValues,
    ProfileChoice,
    ProgressCallback,
    ServerCheck,
    ServerChoice,
)
from tuibench.model.findings import Finding, Severity

PRIVATE = ServerChoice(
    "private",
    "Private demo server",
    "MariaDB 10.11.19, removed when the run ends",
    is_private=True,
)
SERVERS = (
    PRIVATE,
    ServerChoice("files:", "app@db1", "option file, [client]", "db1", "app", "shop"),
    ServerChoice("recent:1", "bench@db2:3307", "used 2d 4h ago", "db2:3307", "bench", "sbtest"),
    ServerChoice("other", "Another server …", "a host, host:port, or a socket's path"),
)
TABLES = "--tables=4 --table-size=100000"
PROFILES = (
    ProfileChoice("oltp_read_write", "14 reads and 4 writes between BEGIN and COMMIT", TABLES),
    ProfileChoice("oltp_read_only", "14 reads between BEGIN and COMMIT", TABLES),
    ProfileChoice("oltp_write_only", "4 writes between BEGIN and COMMIT", TABLES),
    ProfileChoice("tpcc", "TPC-C: new orders, payments and three more", "--scale=10"),
)


def finding(severity: Severity, found: str, remedy: str = "") -> Finding:
    return Finding(id="x", severity=severity, found=found, remedy=remedy)


WELL = tuple(finding(Severity.OK, f"check {number}") for number in range(11))
READY = ServerCheck((*WELL, finding(Severity.NOTE, "another session of 3 connections is idle")))
DOUBTFUL = ServerCheck(
    (
        *WELL,
        finding(
            Severity.WARNING, "2 replicas read the binary log", "expect their lag, or run on a server without"
        ),
        finding(Severity.NOTE, "the table cache holds 2,000 tables"),
    )
)
MISSING = ServerCheck(
    (
        *WELL,
        finding(
            Severity.NEXT,
            "sbtest1, sbtest2 and 2 more in the database 'shop': no such table",
            "create the tables with: tuibench prepare oltp_read_write --tables=4 --table-size=100000",
        ),
    ),
    "4 × 100,000 rows",
)
BLOCKED = ServerCheck((finding(Severity.STOP, "the server is read-only", "run on the primary"), *WELL))


class FakeController:
    """Answers with `outlooks` in turn; `failure` is raised by what is asked next; `hold` keeps work going."""

    def __init__(self, *outlooks: ServerCheck) -> None:
        self.servers: Sequence[ServerChoice] = SERVERS
        self.profiles: Sequence[ProfileChoice] = PROFILES
        self.option_names: Sequence[str] = ("--rate=", "--reconnect=")
        self.first = FormValues(
            server="private", profile="oltp_read_write", database="sbtest", threads="8", options=TABLES
        )
        self.asked: list[tuple[str, FormValues]] = []
        self.failure: TuibenchError | None = None
        self.undone = False
        self._outlooks = list(outlooks)
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def faults(self, answers: FormValues) -> Mapping[str, str]:
        found = {}
        if answers.server != "private" and not answers.place:
            found["place"] = "a host, host:port, or the path of a socket"
        if not answers.threads.isdecimal():
            found["threads"] = f"'{answers.threads}' is not a whole number"
        return found

    async def examine(self, answers: FormValues) -> ServerCheck:
        await self._work("examine", answers)
        return self._outlooks.pop(0)

    async def make(self, answers: FormValues, on_progress: ProgressCallback) -> str:
        on_progress("loading 4 × 100,000 rows, 196,512 rows/s", 0.45)
        await self._work("make", answers)
        return "4 tables"

    async def launch(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        on_progress("starting the run", None)
        await self._work("launch", answers)
        return Path("/run/1.sock")

    async def _work(self, name: str, answers: FormValues) -> None:
        self.asked.append((name, answers))
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.undone = True
            raise
