"""Comparison of server versions: builds, starts, and each test relative to the first build.

Each build is a variant of a sweep, each repeat a start of a new private server with new tables.
"""

import msgspec

from tuibench.model.experiments.effect import Verdict
from tuibench.model.server import Flavour, ServerLimits


class ServerBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A server program and the name of its column.

    `options` are added to its command line; `variables` are its settings that affect speed or durability.
    `limits` are its own limits, None for those of the setup, and `limited` how its own are enforced.
    """

    name: str
    path: str
    flavour: Flavour
    version: str
    options: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    limits: ServerLimits | None = None
    limited: str = ""

    @property
    def words(self) -> str:
        """The build as shown in a report: mysql: MySQL 8.4.3 (/usr/sbin/mysqld)."""
        return f"{self.name}: {self.flavour} {self.version} ({self.path})"


class VersionsSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The builds and their limits; `limited` is the method by which the limits are enforced.

    `start_seconds` is the expected time of a start with all its tables, `loading_seconds` that of the tables,
    by data set.
    """

    builds: tuple[ServerBuild, ...]
    limits: ServerLimits = ServerLimits()
    limited: str = ""
    start_seconds: float = 0.0
    loading_seconds: dict[str, float] = {}

    @property
    def limit_lines(self) -> list[str]:
        """How each server is limited, a line for each build with limits of its own; empty without limits."""
        common = [f"each server is limited to {self.limited}"] if self.limited else []
        own = [f"{build.name}: limited to {build.limited}" for build in self.builds if build.limited]
        return own or common


class ServerStart(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """A private server that was started for one start of a build; `seconds` includes creating its tables.

    A start that was interrupted continues with a new server.
    """

    build: str
    start: int
    started_at: float
    seconds: float


class VersionComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A build's figure relative to the first build's, with its 95 % interval over the starts.

    `case` is empty for the geometric mean of all. Without an interval, there are too few starts for one.
    `levels` has the figure of each start.
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
