"""Sweeps: one load under every combination of cases, settings and threads, each several times.

A *case* is a profile with its options, a *variant* a set of server settings. One of their combinations with a
number of threads, run once, is a *cell*. A comparison of server versions is a sweep, too: each build is a
variant, each repeat a start of a new private server with new tables.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from tuibench.model.effect import Verdict
from tuibench.model.findings import Mean
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.server import (
    Environment,
    Flavour,
    ServerInfo,
    ServerLimits,
    Target,
    version_numbers,
)


class ServerBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A server program and the name of its column."""

    name: str
    path: str
    flavour: Flavour
    version: str
    options: tuple[str, ...] = ()
    """Options added to its command line."""
    settings: dict[str, str] = {}
    """The options that were chosen as settings of the catalogue."""
    variables: dict[str, str] = {}
    """All its settings that affect speed or durability."""
    limits: ServerLimits | None = None
    """Its own limits; None for those of the setup."""
    limited: str = ""
    """How its own limits are enforced."""

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return version_numbers(self.version)

    @property
    def words(self) -> str:
        """The build as shown in a report: mysql: MySQL 8.4.3 (/usr/sbin/mysqld)."""
        return f"{self.name}: {self.flavour} {self.version} ({self.path})"


class VersionsSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The builds and their limits."""

    builds: tuple[ServerBuild, ...]
    limits: ServerLimits = ServerLimits()
    limited: str = ""
    """The method by which the limits are enforced."""
    start_seconds: float = 0.0
    """The expected time of a start with all its tables."""
    loading_seconds: dict[str, float] = {}
    """The expected time of the tables, by data set."""
    bisect: Literal["", "changed", "bad"] = ""
    """If set, only those builds are measured that find the step at which the figure has changed, or has
    become worse.
    """

    @property
    def limit_lines(self) -> list[str]:
        """How each server is limited, a line for each build with limits of its own; empty without limits."""
        common = [f"each server is limited to {self.limited}"] if self.limited else []
        own = [f"{build.name}: limited to {build.limited}" for build in self.builds if build.limited]
        return own or common


class ServerStart(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """A private server that was started for one start of a build.

    A start that was interrupted continues with a new server.
    """

    build: str
    start: int
    started_at: float
    seconds: float
    """Includes creating its tables."""
    around: "SweepEnvironment | None" = None
    """Server and host once the tables existed; None if they could not be read."""


class VersionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a build, or of a variant on one, relative to the first, with its 95 % interval over starts.

    Without an interval, there are too few starts for one.
    """

    build: str
    case: str = ""
    """Empty for the geometric mean of all."""
    threads: int | None = None
    headline: str = ""
    levels: tuple[float, ...] = ()
    """The figure of each start."""
    relative: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = Verdict.CANNOT_TELL
    caveat: str = ""
    """A difference in effect besides the builds, if it has weight."""


TPS = "TPS"
"""The figure of a sweep whose profile has no headline figure of its own."""
SUMMARY = "summary"
"""The table that is printed by default."""


class CellOrder(StrEnum):
    """The order in which cells run."""

    INTERLEAVED = "interleaved"
    """All cells once, then all again in reverse order, and so on. In a round, the variants of each number of
    threads run in succession, in alternating order. So a drift of the machine cancels out, and even in a
    single round it hardly affects their ratios.
    """
    RANDOM = "random"
    """Also in rounds, each shuffled."""
    GIVEN = "given"
    """As specified."""


class Start(StrEnum):
    """The state of the server at the start of a cell: as it is, or with clean pages and the same data, with
    the tables in the buffer pool or without.
    """

    AS_IS = "as-is"
    WARM = "warm"
    COLD = "cold"


class SweepCase(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with options."""

    name: str
    """Unique in the sweep."""
    profile: str
    options: dict[str, OptionValue] = {}
    data: str = ""
    """The command that creates the tables; cases with equal `data` share them."""
    size: str = ""
    """The tables in words: 4 × 100,000 rows."""


class SweepVariant(msgspec.Struct, frozen=True, kw_only=True):
    """Server settings: a preset, and values that override it. Without either, the server's settings are not
    changed.
    """

    name: str
    preset: str = ""
    settings: dict[str, str] = {}
    load: dict[str, OptionValue] = {}
    """Values of fields of the run's plan, if the sweep varies them."""
    server: str = ""
    """The name of the private server's program, if the sweep has private servers."""


class SweepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a sweep."""

    cases: tuple[SweepCase, ...]
    variants: tuple[SweepVariant, ...]
    threads: tuple[int, ...]
    repeats: int = 1
    order: CellOrder = CellOrder.INTERLEAVED
    base: RunPlan
    """What all cells have in common: times, seed, error policy, …"""
    prepare: bool = False
    """True to create tables before the first cell that needs them."""
    cleanup: bool = False
    """True to drop the tables at the end."""
    start: Start = Start.AS_IS

    @property
    def cell_count(self) -> int:
        return len(self.cases) * len(self.variants) * len(self.threads) * self.repeats


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a sweep."""

    number: int
    """Its position in the plan, from 1."""
    case: SweepCase
    variant: SweepVariant
    threads: int
    repeat: int
    """Counts from 1."""

    @property
    def words(self) -> str:
        """The cell's name in messages."""
        under = f", {self.variant.name}" if self.variant.name else ""
        plural = "" if self.threads == 1 else "s"
        return f"{self.case.name}{under}, {self.threads} thread{plural}, run {self.repeat}"


class CellResult(msgspec.Struct, frozen=True, kw_only=True, tag="cell"):
    """Result of a cell. A "failed" cell has no valid figures."""

    cell: Cell
    outcome: Literal["done", "failed"]
    attempt: int = 1
    """Counts from 1."""
    failure: str = ""
    headline: str = TPS
    """The name of the headline figure."""
    figures: dict[str, float] = {}
    """Those of `metrics.inference.FIGURES`; absent if unknown."""
    started_at: float = 0.0
    seconds: float = 0.0
    """The total time."""
    run: str = ""
    """The folder of its record inside the sweep's folder."""
    limited: bool = False
    """True if the client was the bottleneck."""
    warnings: tuple[str, ...] = ()
    cores: int | None = None
    """Those of the server's host, if known."""
    memory_total_bytes: int | None = None
    """That of the server's host, if known."""
    beginning: dict[str, float] = {}
    """The readings before the load (`sweep.beginning`); empty with `Start.AS_IS`."""


class DataReady(msgspec.Struct, frozen=True, kw_only=True, tag="data"):
    """Tables for the next cells."""

    data: str
    files_bytes: int | None = None
    """The size of their files."""
    prepared: bool = False
    """True if the sweep created them."""
    seconds: float | None = None
    """The time of their creation on a private server."""


class DataDropped(msgspec.Struct, frozen=True, kw_only=True, tag="dropped"):
    """Tables that the sweep had created and has dropped."""

    data: str


SweepLine = CellResult | DataReady | DataDropped | ServerStart
"""A line of a sweep's record."""


class SweepEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """The server and both hosts as they were before the sweep."""

    server: ServerInfo
    environment: Environment

    @property
    def ping_ms(self) -> float | None:
        """The median round trip; None if they failed."""
        trip = self.environment.round_trip
        return trip.median_ms if trip else None

    @property
    def binlog(self) -> bool:
        """True if the server writes a binary log."""
        return self.environment.variables.get("log_bin", "").upper() in ("ON", "1")


class SweepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`sweep.json`: the plan and the environment. It never contains a password."""

    schema: Literal["tuibench.sweep/1"] = "tuibench.sweep/1"
    name: str
    started_at: float
    plan: SweepPlan
    target: Target
    surroundings: SweepEnvironment
    """With `versions`, those of the first start."""
    versions: VersionsSetup | None = None
    """The private servers of a comparison of versions: the builds are the variants, the starts are the
    repeats.
    """
    servers: VersionsSetup | None = None
    """The private servers of any other sweep."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """State of a sweep."""

    record: SweepRecord
    results: tuple[CellResult, ...] = ()
    """The last result of each cell."""
    data: tuple[DataReady, ...] = ()
    """The last state of all tables."""
    starts: tuple[ServerStart, ...] = ()

    @property
    def done(self) -> tuple[CellResult, ...]:
        """The valid results."""
        return tuple(result for result in self.results if result.outcome == "done")


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one combination together; `figures` by their names, absent if unknown."""

    case: SweepCase
    variant: SweepVariant
    threads: int
    headline: str
    figures: dict[str, Mean]
    limited: bool = False
