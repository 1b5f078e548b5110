"""What stands behind the start form in tests: scripted answers, and a record of what was asked."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from tuibench.errors import TuibenchError
from tuibench.model.finding import Finding, Severity
from tuibench.tui.start.backstage import Answers, Outlook, ProfileOffer, ServerOffer, Step, Tell

PRIVATE = ServerOffer(
    "private",
    "Private demo server",
    "MariaDB 10.11.19, made for this run and gone afterwards",
    is_private=True,
)
SERVERS = (
    PRIVATE,
    ServerOffer("files:", "app@db1", "option file, [client]", "db1", "app", "shop"),
    ServerOffer("recent:1", "bench@db2:3307", "used 2d 4h ago", "db2:3307", "bench", "sbtest"),
    ServerOffer("other", "Another server …", "a host, host:port, or a socket's path"),
)
TABLES = "--tables=4 --table-size=100000"
PROFILES = (
    ProfileOffer(
        "oltp_read_write",
        "sysbench's oltp_read_write: 14 reads and 4 writes between BEGIN and COMMIT",
        TABLES,
    ),
    ProfileOffer("oltp_read_only", "sysbench's oltp_read_only: 14 reads between BEGIN and COMMIT", TABLES),
    ProfileOffer("oltp_write_only", "sysbench's oltp_write_only: 4 writes between BEGIN and COMMIT", TABLES),
    ProfileOffer("tpcc", "TPC-C: new orders, payments and three more", "--scale=10"),
)


def finding(severity: Severity, found: str, remedy: str = "") -> Finding:
    return Finding(id="x", severity=severity, found=found, remedy=remedy)


WELL = tuple(finding(Severity.OK, f"check {number}") for number in range(11))
READY = Outlook((*WELL, finding(Severity.NOTE, "another session of 3 connections is idle")))
DOUBTFUL = Outlook(
    (
        *WELL,
        finding(
            Severity.WARNING, "2 replicas read the binary log", "expect their lag, or run on a server without"
        ),
        finding(Severity.NOTE, "the table cache holds 2,000 tables"),
    )
)
MISSING = Outlook(
    (
        *WELL,
        finding(
            Severity.STOP,
            "sbtest1, sbtest2 and 2 more in the database 'shop': no such table",
            "make the tables with: tuibench prepare oltp_read_write --tables=4 --table-size=100000",
        ),
    ),
    "4 × 100,000 rows",
)
BLOCKED = Outlook((finding(Severity.STOP, "the server is read only", "run on the primary"), *WELL))


class FakeBackstage:
    """Answers with `outlooks` in turn; `failure` is raised by what is asked next; `hold` keeps work going."""

    def __init__(self, *outlooks: Outlook) -> None:
        self.servers: Sequence[ServerOffer] = SERVERS
        self.profiles: Sequence[ProfileOffer] = PROFILES
        self.first = Answers(
            server="private", profile="oltp_read_write", database="sbtest", threads="8", options=TABLES
        )
        self.asked: list[tuple[str, Answers]] = []
        self.failure: TuibenchError | None = None
        self.undone = False
        self._outlooks = list(outlooks)
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def faults(self, answers: Answers) -> Mapping[str, str]:
        found = {}
        if answers.server != "private" and not answers.place:
            found["place"] = "a host, host:port, or the path of a socket"
        if not answers.threads.isdecimal():
            found["threads"] = f"'{answers.threads}' is not a whole number"
        return found

    async def examine(self, answers: Answers) -> Outlook:
        await self._work("examine", answers)
        return self._outlooks.pop(0)

    async def make(self, answers: Answers, tell: Tell) -> str:
        tell(Step("loading 4 × 100,000 rows, 196,512 rows/s", 0.45))
        await self._work("make", answers)
        return "4 tables"

    async def launch(self, answers: Answers, tell: Tell) -> Path:
        tell(Step("starting the run"))
        await self._work("launch", answers)
        return Path("/run/1.sock")

    async def _work(self, name: str, answers: Answers) -> None:
        self.asked.append((name, answers))
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.undone = True
            raise
