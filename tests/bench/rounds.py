"""One round: sysbench and tuibench's engines, one after the other, with the same load on the same tables.

Ratios within a round survive a machine whose speed drifts; medians over rounds survive a bad moment.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import psutil

from tests.bench.compiled import COMPILED
from tests.bench.mix import Mix, compared, counters, handshakes, mix
from tuibench.model.server import Target

SAMPLE_SECONDS = 0.1


class Case(NamedTuple):
    """A load to compare under; `rate` in transactions per second, 0 for a closed loop."""

    profile: str
    threads: int
    rate: float = 0.0


class Cpu(NamedTuple):
    """Processor time per query in microseconds: of sysbench, or of tuibench's workers, while the load ran;
    and of all processes of the program from its start to its end.
    """

    user_us: float
    all_us: float
    whole_us: float


class Outcome(NamedTuple):
    """What one program reached: transactions per second, latency percentiles in ms (with a rate: response
    times), its cost. `mix` is what the server counted.
    """

    transactions_per_second: float
    percentiles_ms: dict[str, float]
    cpu: Cpu
    queries_per_transaction: float
    mix: Mix


class Round(NamedTuple):
    """sysbench once, and each engine once."""

    sysbench: Outcome
    engines: dict[str, Outcome]


class Row(NamedTuple):
    """One engine against sysbench: medians over the rounds of a case, on all starts of the server; `mix` is
    that of the last round.

    At a fixed rate, how many transactions arrive is chance (a Poisson process), so there the ratio is that of
    all rounds together.
    """

    tps_ratio: float
    tps_ratio_low: float
    tps_ratio_high: float
    percentile_ratios: dict[str, float]
    user_cpu_ratio: float
    all_cpu_ratio: float
    whole_cpu_ratio: float
    sysbench_tps: float
    tuibench_tps: float
    sysbench_cpu_us: float
    tuibench_cpu_us: float
    mix: str

    @classmethod
    def of(cls, case: Case, engine: str, rounds: Sequence[Round]) -> "Row":
        pairs = [(each.sysbench, each.engines[engine]) for each in rounds]
        ratios = [ours.transactions_per_second / theirs.transactions_per_second for theirs, ours in pairs]

        def ratio(figure: Callable[[Outcome], float]) -> float:
            return median(figure(ours) / figure(theirs) for theirs, ours in pairs)

        def percentile_ratio(name: str) -> float:
            return ratio(lambda each: each.percentiles_ms[name])

        theirs, ours = pairs[-1]
        return cls(
            _mean_ratio(pairs) if case.rate else median(ratios),
            min(ratios),
            max(ratios),
            {name: percentile_ratio(name) for name in PERCENTILES},
            ratio(lambda each: each.cpu.user_us),
            ratio(lambda each: each.cpu.all_us),
            ratio(lambda each: each.cpu.whole_us),
            median(theirs.transactions_per_second for theirs, _ in pairs),
            median(ours.transactions_per_second for _, ours in pairs),
            median(theirs.cpu.all_us for theirs, _ in pairs),
            median(ours.cpu.all_us for _, ours in pairs),
            compared(theirs.mix, ours.mix),
        )


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def _mean_ratio(pairs: Sequence[tuple[Outcome, Outcome]]) -> float:
    ours = fmean(each.transactions_per_second for _, each in pairs)
    return ours / fmean(each.transactions_per_second for each, _ in pairs)


def chance_of(rate: float, seconds: float) -> float:
    """The standard deviation of the ratio of two Poisson processes' counts."""
    return float((2 / (rate * seconds)) ** 0.5)


class Bench:
    """Runs rounds against one server, whose tables are there. With a folder of scripts, tuibench runs those
    instead of its profiles. With a folder of certificates, under sysbench's names, both use TLS over TCP.
    """

    def __init__(
        self,
        target: Target,
        tables: int,
        table_size: int,
        seconds: float,
        home: Path,
        engines: Sequence[str],
        scripts: Path | None,
        certificates: Path | None,
        further: Sequence[str] = (),
    ) -> None:
        self._target = target
        self._data = [f"--tables={tables}", f"--table-size={table_size}"]
        self._seconds = seconds
        self._home = home
        self._engines = engines
        self._scripts = scripts
        self._certificates = certificates
        self._further = [f"--{word}" for word in further]

    def round(self, case: Case, number: int) -> Round:
        """Every program once; which begins changes by turns, so that none always finds the warmer server."""
        programs = ["sysbench", *self._engines]
        turn = number % len(programs)
        found = {
            program: self.sysbench(case) if program == "sysbench" else self.tuibench(case, program)
            for program in programs[turn:] + programs[:turn]
        }
        return Round(found.pop("sysbench"), found)

    def sysbench(self, case: Case) -> Outcome:
        place = f"--mysql-host={self._target.host}", f"--mysql-port={self._target.port}", "--mysql-ssl=on"
        login = [
            *(place if self._certificates else (f"--mysql-socket={self._target.socket}",)),
            f"--mysql-user={self._target.user}",
            f"--mysql-password={self._target.password}",
            f"--mysql-db={self._target.database}",
        ]
        load = [*self._load(case), "--histogram=on"]
        before = counters(self._target)
        handshaken = handshakes(self._target) if self._certificates else 0
        command = ["sysbench", case.profile, *login, *load, "run"]
        run = _run(command, {}, "sysbench", folder=self._certificates)
        if self._certificates and handshakes(self._target) - handshaken <= case.threads:
            raise SystemExit("sysbench did not encrypt its connections")
        transactions = _number(r"transactions: +(\d+) +\(", run.out)
        queries = _number(r"queries: +(\d+) +\(", run.out)
        cpu_seconds = run.readings[-1][1]
        all_us = cpu_seconds * 1e6 / queries
        return Outcome(
            _number(r"transactions: +\d+ +\(([\d.]+) per sec", run.out),
            _histogram_percentiles_ms(run.out),
            Cpu(all_us * run.user_share(cpu_seconds), all_us, run.whole_seconds * 1e6 / queries),
            queries / transactions,
            mix(before, counters(self._target), transactions),
        )

    def tuibench(self, case: Case, engine: str) -> Outcome:
        place = f"--host={self._target.host}", f"--port={self._target.port}", "--ssl-mode=required"
        login = [
            *(place if self._certificates else (f"--socket={self._target.socket}",)),
            f"--user={self._target.user}",
        ]
        load = [*self._load(case), *self._further, "--report-interval=0", f"--engine={engine}"]
        file = self._home / "summary.json"
        profile = str(self._scripts / f"{case.profile}.lua") if self._scripts else case.profile
        command = [sys.executable, "-m", "tuibench", "run", profile, *login, *load, f"--json={file}"]
        environment = {"MYSQL_PWD": self._target.password, "TUIBENCH_HOME": str(self._home)}
        before = counters(self._target)
        run = _run([*command, f"--database={self._target.database}"], environment, WORKER)
        summary = json.loads(file.read_text())
        if summary["client"]["engine"] != engine:
            raise SystemExit(f"{engine} was asked for, but {summary['client']['engine']} ran")
        queries, transactions = summary["queries"]["total"], summary["transactions"]["total"]
        cpu_seconds = summary["client"]["cpu_seconds"]
        all_us = cpu_seconds * 1e6 / queries
        return Outcome(
            summary["transactions"]["per_second"],
            {name: summary["latency_ms"][name] for name in PERCENTILES},
            Cpu(all_us * run.user_share(cpu_seconds), all_us, run.whole_seconds * 1e6 / queries),
            queries / transactions,
            mix(before, counters(self._target), transactions),
        )

    def _load(self, case: Case) -> list[str]:
        rate = [f"--rate={case.rate:g}"] if case.rate else []
        return [*self._data, f"--threads={case.threads}", f"--time={self._seconds:g}", *rate]


WORKER = "tuibench.load.worker"


class Run(NamedTuple):
    """What a program printed, and the processor time of those of its processes that drive the load: user and
    all seconds, at each reading. `whole_seconds` is that of all its processes, as the system counts it.
    """

    out: str
    readings: list[tuple[float, float]]
    whole_seconds: float

    def user_share(self, seconds: float) -> float:
        """Of the last so many seconds of processor time, the share in user mode."""
        end_user, end_all = self.readings[-1]
        user, total = next(
            each for each in reversed(self.readings) if end_all - each[1] >= seconds or each[1] == 0
        )
        return (end_user - user) / (end_all - total)


def _run(command: list[str], environment: dict[str, str], driver: str, *, folder: Path | None = None) -> Run:
    """Runs a program; `driver` stands in the command line of the processes that drive its load.

    Their processor time is read until they end, so the last tenth of a second may be missing.
    """
    used: dict[int, tuple[float, float]] = {}
    readings = [(0.0, 0.0)]
    before = os.times()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**COMPILED, **environment},
        cwd=folder,
    ) as process:
        while process.poll() is None:
            used.update(_cpu_times(process.pid, driver))
            user = sum(each[0] for each in used.values())
            readings.append((user, user + sum(each[1] for each in used.values())))
            time.sleep(SAMPLE_SECONDS)
        out = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}:\n{out}")
    after = os.times()
    whole = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(out, readings, whole)


def _cpu_times(pid: int, driver: str) -> dict[int, tuple[float, float]]:
    """User and system seconds of each process of a program that drives its load."""
    found = {}
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            if any(driver in word for word in process.cmdline()):
                times = process.cpu_times()
                found[process.pid] = (times.user, times.system)
    except psutil.Error:
        pass
    return found


def _histogram_percentiles_ms(text: str) -> dict[str, float]:
    """From sysbench's printed histogram: it prints one percentile a run itself."""
    rows = [(float(value), int(count)) for value, count in re.findall(r"([\d.]+) \|\** +(\d+)", text)]
    total = sum(count for _, count in rows)
    if not total:
        raise SystemExit(f"no histogram in:\n{text}")
    found = {}
    for name, quantile in PERCENTILES.items():
        seen = 0
        for value, count in rows:
            seen += count
            if seen >= quantile * total:
                found[name] = value
                break
    return found


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"no figure for {pattern!r} in:\n{text}")
    return float(found[1])
