"""Tick: what was measured between two readings, in a form that adds up.

A tick holds counts and histograms; rates and percentiles are computed when a figure is read
(`metrics.figures`). So the same operation adds up workers to a report, hosts to a load, and ticks to a line,
a window, a level or a run, and no figure depends on how the time was divided into ticks.

The keys of `sums`, with their unit; a source that was not read in the tick has none of its keys:

    completed, failed, reads, queries, error.1213, ...   the load's counts
    headline                                             the headline figure times the seconds
    server.seconds, server.completed, server.queries     what the server's counters were counted over
    Questions, Innodb_os_log_fsyncs, ...                 growth of the server's status counters
    host.seconds, host.busy, host.server_cpu, ...        the server's host, in seconds, bytes or requests
    client.seconds, ...                                  tuibench's own host, if it is another one
    own.completed, ...                                   the load's, in a tick of all of a server's traffic

`arrears` are sums of work that was done before the tick and reported in it, by a worker that had been
silent: not part of the tick's own figures, but of those of the ticks together.

`levels` are values at the end of the tick: threads, backlog, Threads_running, host.memory_used. `peaks` are
the largest values in the tick: lag_seconds, worker_cpu. `hists` are latencies in µs: response, service,
trx.NAME, stmt.NAME, login, wait. `missing` says why something was not measured; it is never a zero.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from tuibench.model.histogram import Histogram

RESPONSE, SERVICE, LOGIN, WAIT = "response", "service", "login", "wait"
TRANSACTION, STATEMENT = "trx.", "stmt."
"""Prefixes of histograms."""
ERROR = "error."
"""Prefix of the counts of failed statements, by the server's error code."""
SERVER, HOST, CLIENT, OWN = "server.", "host.", "client.", "own."
"""Prefixes of the sources."""
Value = TypeVar("Value")


class Tick(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One tick, or several added up; see the header for the keys.

    `end` is in seconds since the start of the measured load, 0 or less in a warm-up. `seconds` is the
    measured time of the transactions: the load's, or that of the server's readings for its traffic.
    """

    end: float = 0.0
    seconds: float = 0.0
    sums: dict[str, float] = {}
    arrears: dict[str, float] = {}
    levels: dict[str, float] = {}
    peaks: dict[str, float] = {}
    hists: dict[str, Histogram] = {}
    missing: dict[str, str] = {}

    def __add__(self, other: "Tick") -> "Tick":
        return total_tick((self, other))

    @property
    def start(self) -> float:
        """The beginning of the tick, in seconds since the start of the measured load."""
        return self.end - self.seconds

    def hist(self, name: str) -> Histogram:
        """A histogram; an empty one if nothing was measured."""
        return self.hists.get(name) or Histogram()

    def named(self, prefix: str) -> dict[str, Histogram]:
        """The histograms of a prefix, by the rest of their names."""
        return {name[len(prefix) :]: self.hists[name] for name in self.hists if name.startswith(prefix)}

    @property
    def own(self) -> "Tick":
        """The load's own tick, in a tick of all of a server's traffic."""
        sums = self.counts(OWN)
        return Tick(
            end=self.end,
            seconds=sums.pop("seconds", 0.0),
            sums=sums,
            levels=self.levels,
            peaks=self.peaks,
            hists=self.named(OWN),
        )

    def moved(self, source: str, to: str) -> "Tick":
        """What one source measured, under the prefix of another one."""

        def renamed(values: Mapping[str, Value]) -> dict[str, Value]:
            found = (name for name in values if name.startswith(source))
            return {to + name[len(source) :]: values[name] for name in found}

        return Tick(
            end=self.end,
            seconds=self.seconds,
            sums=renamed(self.sums),
            levels=renamed(self.levels),
            missing=renamed(self.missing),
        )

    def counts(self, prefix: str) -> dict[str, float]:
        """The sums of a prefix, by the rest of their names."""
        return {name[len(prefix) :]: value for name, value in self.sums.items() if name.startswith(prefix)}

    @property
    def errors(self) -> float:
        """Failed statements, of all codes."""
        return sum(self.counts(ERROR).values())


def total_tick(ticks: Iterable[Tick]) -> Tick:
    """The sum of ticks in any order: levels are those of the latest one that has them."""
    end = seconds = 0.0
    arrears: dict[str, float] | None = None
    sums: dict[str, float] = {}
    peaks: dict[str, float] = {}
    hists: dict[str, Histogram] = {}
    levels: dict[str, float] = {}
    missing: dict[str, str] = {}
    for tick in sorted(ticks, key=_end):
        end = tick.end
        seconds += tick.seconds
        for name, value in tick.sums.items():
            sums[name] = sums.get(name, 0) + value
        if arrears is None:
            arrears = tick.arrears
        else:
            for name, value in tick.arrears.items():
                sums[name] = sums.get(name, 0) + value
        for name, value in tick.peaks.items():
            peaks[name] = max(peaks.get(name, value), value)
        for name, histogram in tick.hists.items():
            hists.setdefault(name, Histogram()).add(histogram)
        levels.update(tick.levels)
        missing.update(tick.missing)
    return Tick(
        end=end,
        seconds=seconds,
        sums=sums,
        arrears=arrears or {},
        levels=levels,
        peaks=peaks,
        hists=hists,
        missing=missing,
    )


def _end(tick: Tick) -> float:
    return tick.end


def prefixed(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """The values under the prefix of their source."""
    return {prefix + name: value for name, value in values.items()}
