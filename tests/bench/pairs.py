"""One pair: sysbench and tuibench, one after the other, with the same load on the same tables of one server.

Ratios within a pair survive a machine whose speed drifts; medians over pairs survive a bad moment.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from tests.bench.mix import Mix, compared, counters, mix
from tuibench.model.target import Target


class Case(NamedTuple):
    """A load to compare under; `rate` in transactions per second, 0 for a closed loop."""

    profile: str
    threads: int
    rate: float = 0.0


class Outcome(NamedTuple):
    """What one program reached: transactions per second, latency (with a rate: response time), its cost.

    `cpu_us_per_query` is processor time while the load ran: of sysbench's process, of tuibench's workers.
    `whole_us_per_query` has all its processes from start to end. `mix` is what the server counted.
    """

    transactions_per_second: float
    p50_ms: float
    p95_ms: float
    cpu_us_per_query: float
    whole_us_per_query: float
    queries_per_transaction: float
    mix: Mix


class Pair(NamedTuple):
    sysbench: Outcome
    tuibench: Outcome

    @property
    def tps_ratio(self) -> float:
        return self.tuibench.transactions_per_second / self.sysbench.transactions_per_second

    @property
    def cpu_ratio(self) -> float:
        return self.tuibench.cpu_us_per_query / self.sysbench.cpu_us_per_query


class Row(msgspec.Struct, frozen=True):
    """Medians over the pairs of a case; `mix` and the queries of a transaction are those of the last pair.

    At a fixed rate, how many transactions arrive is chance (a Poisson process), so there the ratio is that of
    all pairs together.
    """

    case: Case
    tps_ratio: float
    tps_ratio_low: float
    tps_ratio_high: float
    p50_ratio: float
    p95_ratio: float
    sysbench_tps: float
    tuibench_tps: float
    cpu_ratio: float
    sysbench_cpu_us: float
    tuibench_cpu_us: float
    tuibench_whole_us: float
    queries: tuple[float, float]
    mix: str

    @classmethod
    def of(cls, case: Case, pairs: list[Pair]) -> "Row":
        ratios = [pair.tps_ratio for pair in pairs]
        return cls(
            case,
            _mean_ratio(pairs) if case.rate else median(ratios),
            min(ratios),
            max(ratios),
            median(pair.tuibench.p50_ms / pair.sysbench.p50_ms for pair in pairs),
            median(pair.tuibench.p95_ms / pair.sysbench.p95_ms for pair in pairs),
            median(pair.sysbench.transactions_per_second for pair in pairs),
            median(pair.tuibench.transactions_per_second for pair in pairs),
            median(pair.cpu_ratio for pair in pairs),
            median(pair.sysbench.cpu_us_per_query for pair in pairs),
            median(pair.tuibench.cpu_us_per_query for pair in pairs),
            median(pair.tuibench.whole_us_per_query for pair in pairs),
            (pairs[-1].sysbench.queries_per_transaction, pairs[-1].tuibench.queries_per_transaction),
            compared(pairs[-1].sysbench.mix, pairs[-1].tuibench.mix),
        )


def _mean_ratio(pairs: list[Pair]) -> float:
    ours = fmean(pair.tuibench.transactions_per_second for pair in pairs)
    return ours / fmean(pair.sysbench.transactions_per_second for pair in pairs)


def chance_of(rate: float, seconds: float) -> float:
    """The standard deviation of the ratio of two Poisson processes' counts."""
    return float((2 / (rate * seconds)) ** 0.5)


class Bench:
    """Runs pairs against one server, whose tables are there."""

    def __init__(self, target: Target, tables: int, table_size: int, seconds: float, home: Path) -> None:
        self._target = target
        self._data = [f"--tables={tables}", f"--table-size={table_size}"]
        self._seconds = seconds
        self._home = home

    def pair(self, case: Case, *, sysbench_first: bool) -> Pair:
        """Both programs once; who begins alternates, so that neither always finds the warmer server."""
        if sysbench_first:
            theirs, ours = self.sysbench(case), self.tuibench(case)
        else:
            ours, theirs = self.tuibench(case), self.sysbench(case)
        return Pair(theirs, ours)

    def sysbench(self, case: Case) -> Outcome:
        login = [
            f"--mysql-socket={self._target.socket}",
            f"--mysql-user={self._target.user}",
            f"--mysql-password={self._target.password}",
            f"--mysql-db={self._target.database}",
        ]
        load = [*self._load(case), "--histogram=on", "--percentile=95"]
        before = counters(self._target)
        text, cpu_seconds = _timed(["sysbench", case.profile, *login, *load, "run"], {})
        transactions = _number(r"transactions: +(\d+) +\(", text)
        queries = _number(r"queries: +(\d+) +\(", text)
        cpu_us = cpu_seconds * 1e6 / queries
        return Outcome(
            _number(r"transactions: +\d+ +\(([\d.]+) per sec", text),
            _median_ms(text),
            _number(r"95th percentile: +([\d.]+)", text),
            cpu_us,
            cpu_us,
            queries / transactions,
            mix(before, counters(self._target), transactions),
        )

    def tuibench(self, case: Case) -> Outcome:
        login = [f"--socket={self._target.socket}", f"--user={self._target.user}"]
        load = [*self._load(case), "--report-interval=0"]
        file = self._home / "summary.json"
        command = [sys.executable, "-m", "tuibench", "run", case.profile, *login, *load, f"--json={file}"]
        environment = {"MYSQL_PWD": self._target.password, "TUIBENCH_HOME": str(self._home)}
        before = counters(self._target)
        _, cpu_seconds = _timed([*command, f"--database={self._target.database}"], environment)
        summary = json.loads(file.read_text())
        latency, queries = summary["latency_ms"], summary["queries"]["total"]
        transactions = summary["transactions"]["total"]
        return Outcome(
            summary["transactions"]["per_second"],
            latency["p50"],
            latency["p95"],
            summary["client"]["cpu_seconds"] * 1e6 / queries,
            cpu_seconds * 1e6 / queries,
            queries / transactions,
            mix(before, counters(self._target), transactions),
        )

    def _load(self, case: Case) -> list[str]:
        rate = [f"--rate={case.rate:g}"] if case.rate else []
        return [*self._data, f"--threads={case.threads}", f"--time={self._seconds:g}", *rate]


def _timed(command: list[str], environment: dict[str, str]) -> tuple[str, float]:
    """Runs a program; what it printed, and the processor seconds of it and its children."""
    before = os.times()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    user = after.children_user - before.children_user
    return done.stdout, user + after.children_system - before.children_system


def _median_ms(text: str) -> float:
    """The middle of sysbench's printed histogram: its percentile is one number a run."""
    rows = [(float(value), int(count)) for value, count in re.findall(r"([\d.]+) \|\** +(\d+)", text)]
    half, seen = sum(count for _, count in rows) / 2, 0
    for value, count in rows:
        seen += count
        if seen >= half:
            return value
    raise SystemExit(f"no histogram in:\n{text}")


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"no figure for {pattern!r} in:\n{text}")
    return float(found[1])
