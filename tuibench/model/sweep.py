"""Results of sweeps and of comparisons of server versions.

Comparison of server versions: builds, starts, and each test relative to the first build.

Each build is a variant of a sweep, each repeat a start of a new private server with new tables.

Sweep: one load under every combination of cases, settings and threads, each several times.

A *case* is a profile with its options, a *variant* a set of server settings. One of their combinations with a
number of threads, run once, is a *cell*. `Sweep` holds the plan and the results of a sweep.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from tuibench.model.effect import Verdict
from tuibench.model.findings import Mean
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.server import Environment, Flavour, ServerInfo, ServerLimits, Target


class ServerBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A server program and the name of its column.

    `options` are added to its command line; `settings` are those of them that were chosen as settings of the
    catalogue. `variables` are all its settings that affect speed or durability.
    `limits` are its own limits, None for those of the setup, and `limited` how its own are enforced.
    """

    name: str
    path: str
    flavour: Flavour
    version: str
    options: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    variables: dict[str, str] = {}
    limits: ServerLimits | None = None
    limited: str = ""

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))

    @property
    def words(self) -> str:
        """The build as shown in a report: mysql: MySQL 8.4.3 (/usr/sbin/mysqld)."""
        return f"{self.name}: {self.flavour} {self.version} ({self.path})"


class VersionsSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The builds and their limits; `limited` is the method by which the limits are enforced.

    `start_seconds` is the expected time of a start with all its tables, `loading_seconds` that of the tables,
    by data set. With `bisect`, only those builds are measured that find the step at which the figure has
    changed, or has become worse.
    """

    builds: tuple[ServerBuild, ...]
    limits: ServerLimits = ServerLimits()
    limited: str = ""
    start_seconds: float = 0.0
    loading_seconds: dict[str, float] = {}
    bisect: Literal["", "changed", "bad"] = ""

    @property
    def limit_lines(self) -> list[str]:
        """How each server is limited, a line for each build with limits of its own; empty without limits."""
        common = [f"each server is limited to {self.limited}"] if self.limited else []
        own = [f"{build.name}: limited to {build.limited}" for build in self.builds if build.limited]
        return own or common


class ServerStart(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """A private server that was started for one start of a build; `seconds` includes creating its tables.

    A start that was interrupted continues with a new server. `around` is what it was like with its tables,
    None if that could not be read.
    """

    build: str
    start: int
    started_at: float
    seconds: float
    around: "SweepEnvironment | None" = None


class VersionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a build, or of a variant on one, relative to the first, with its 95 % interval over starts.

    `case` is empty for the geometric mean of all. Without an interval, there are too few starts for one.
    `levels` has the figure of each start. `caveat` is what differs beside the builds, if it has weight.
    """

    build: str
    case: str = ""
    threads: int | None = None
    headline: str = ""
    levels: tuple[float, ...] = ()
    relative: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = Verdict.CANNOT_TELL
    caveat: str = ""


TPS = "TPS"
"""The figure of a sweep whose profile has no headline figure of its own."""
SUMMARY = "summary"
"""The table that is printed by default."""


class CellOrder(StrEnum):
    """The order in which cells run.

    INTERLEAVED: all cells once, then all again in reverse order, and so on; in a round, the variants of each
    number of threads run in succession, in alternating order. So a drift of the machine cancels out, and even
    in a single round it hardly affects their ratios. RANDOM: also in rounds, each shuffled. GIVEN: as
    specified.
    """

    INTERLEAVED = "interleaved"
    RANDOM = "random"
    GIVEN = "given"


class Start(StrEnum):
    """What a cell begins with: the server as it is, or clean pages and the same data, with the tables in the
    buffer pool or without.
    """

    AS_IS = "as-is"
    WARM = "warm"
    COLD = "cold"


class SweepCase(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with options; `name` is unique in the sweep.

    `data` identifies the tables that it uses (by the command that creates them); cases with equal `data`
    share them. `size` describes them: 4 × 100,000 rows.
    """

    name: str
    profile: str
    options: dict[str, OptionValue] = {}
    data: str = ""
    size: str = ""


class SweepVariant(msgspec.Struct, frozen=True, kw_only=True):
    """Server settings: a preset, and values that override it. Without either, the server's settings are not
    changed.

    `load` are values of fields of the run's plan, if the sweep varies them. `server` is the name of the
    private server's program, if the sweep has private servers.
    """

    name: str
    preset: str = ""
    settings: dict[str, str] = {}
    load: dict[str, OptionValue] = {}
    server: str = ""


class SweepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a sweep. `base` has what all cells have in common: times, seed, error policy, …

    With `prepare`, tables are created before the first cell that needs them; with `cleanup`, they are dropped
    at the end.
    """

    cases: tuple[SweepCase, ...]
    variants: tuple[SweepVariant, ...]
    threads: tuple[int, ...]
    repeats: int = 1
    order: CellOrder = CellOrder.INTERLEAVED
    base: RunPlan
    prepare: bool = False
    cleanup: bool = False
    start: Start = Start.AS_IS

    @property
    def cell_count(self) -> int:
        return len(self.cases) * len(self.variants) * len(self.threads) * self.repeats


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a sweep.

    `number` (from 1) is its position in the plan, `repeat` counts from 1.
    """

    number: int
    case: SweepCase
    variant: SweepVariant
    threads: int
    repeat: int

    @property
    def words(self) -> str:
        """The cell's name in messages."""
        under = f", {self.variant.name}" if self.variant.name else ""
        plural = "" if self.threads == 1 else "s"
        return f"{self.case.name}{under}, {self.threads} thread{plural}, run {self.repeat}"


class CellResult(msgspec.Struct, frozen=True, kw_only=True, tag="cell"):
    """Result of a cell. A "failed" cell has the reason, and no valid figures.

    `attempt` counts from 1. `seconds` is the total time, `run` the folder of its record inside the sweep's
    folder. `headline` is the name of the headline figure. `figures` are those of `metrics.inference.FIGURES`,
    absent if unknown. `limited` is True if the client was the bottleneck.
    `cores` and `memory_total_bytes` are those of the server's host, if known. `beginning` are the readings
    before the load (`sweep.beginning`), unless it began as it was.
    """

    cell: Cell
    outcome: Literal["done", "failed"]
    attempt: int = 1
    failure: str = ""
    headline: str = TPS
    figures: dict[str, float] = {}
    started_at: float = 0.0
    seconds: float = 0.0
    run: str = ""
    limited: bool = False
    warnings: tuple[str, ...] = ()
    cores: int | None = None
    memory_total_bytes: int | None = None
    beginning: dict[str, float] = {}


class DataReady(msgspec.Struct, frozen=True, kw_only=True, tag="data"):
    """Tables for the next cells: the size of their files, and whether the sweep created them.

    `seconds` is the time of their creation on a private server.
    """

    data: str
    files_bytes: int | None = None
    prepared: bool = False
    seconds: float | None = None


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
    """`sweep.json`: the plan and the environment. It never contains a password.

    With `versions`, on private servers: the builds are the variants, the starts are the repeats;
    `surroundings` are those of the first start. `servers` are the private servers of any other sweep.
    """

    schema: Literal["tuibench.sweep/1"] = "tuibench.sweep/1"
    name: str
    started_at: float
    plan: SweepPlan
    target: Target
    surroundings: SweepEnvironment
    versions: VersionsSetup | None = None
    servers: VersionsSetup | None = None


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """State of a sweep. `results` has the last result of each cell, `data` the last state of all tables."""

    record: SweepRecord
    results: tuple[CellResult, ...] = ()
    data: tuple[DataReady, ...] = ()
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
