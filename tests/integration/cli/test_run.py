"""`tuibench run` on real servers, beside sysbench: the same words, the same statements, the same counts."""

import asyncio
import csv
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.support.commands import ask, tuibench
from tests.validation import check_valid
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

TABLES = ("--tables=2", "--table-size=500")
QUERIES = {"oltp_read_write": 20, "oltp_read_only": 16, "oltp_write_only": 6, "oltp_point_select": 1}
"""Each profile's statements in one transaction."""

THREADS = 2

TIMED = "oltp_read_write"
"""The profile that runs for two seconds; for the others, some transactions are enough."""

SYSBENCH_EVENTS = 50
STATEMENTS = ("Com_select", "Com_update", "Com_delete", "Com_insert", "Com_begin", "Com_commit")

INTERVAL_LINE = re.compile(
    r"\[ \d+s \] thds: \d+ tps: (\d+\.\d{2}) qps: (\d+\.\d{2}) "
    r"\(r/w/o: \d+\.\d{2}/\d+\.\d{2}/\d+\.\d{2}\) lat \(ms,95%\): \d+\.\d{2} "
    r"err/s: (\d+\.\d{2}) reconn/s: \d+\.\d{2}"
)


class Run(NamedTuple):
    """One run of a profile: what it printed, and its summary as a script reads it."""

    profile: str
    code: int
    out: str
    err: str
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def runs(tables: PrivateServer) -> Iterator["Runs"]:
    runs = Runs(tables.target)
    yield runs
    runs.forget()


@pytest.fixture(
    params=[name if name == TIMED else pytest.param(name, marks=pytest.mark.one_flavour) for name in QUERIES]
)
def run(request: pytest.FixtureRequest, runs: "Runs") -> Run:
    """Each profile in turn, run once for all tests that look at it."""
    return runs.of(request.param)


class Runs:
    """The runs of one server; nobody else is on it meanwhile."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._home = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
        self._done: dict[str, Run] = {}

    def of(self, profile: str) -> Run:
        if profile not in self._done:
            self._done[profile] = self._run(profile)
        return self._done[profile]

    def forget(self) -> None:
        shutil.rmtree(self._home)

    def _run(self, profile: str) -> Run:
        written = self._home / f"{profile}.json"
        limits = ("--time=2",) if profile == TIMED else ("--time=0", "--events=300")
        options = (f"--threads={THREADS}", *limits, f"--json={written}")
        env = {"TUIBENCH_HOME": str(self._home)}
        done = tuibench("run", profile, *TABLES, *options, target=self._target, env=env)
        assert done.code == 0, done.err
        return Run(profile, *done, check_valid("summary", written.read_bytes()))


def sysbench(target: Target, profile: str, *options: str) -> str:
    """What sysbench prints on the same tables."""
    login = (
        f"--mysql-socket={target.socket}",
        f"--mysql-user={target.user}",
        f"--mysql-password={target.password}",
        f"--mysql-db={target.database}",
    )
    done = subprocess.run(
        ["sysbench", profile, *login, *TABLES, *options, "run"], capture_output=True, text=True, check=True
    )
    return done.stdout


needs_sysbench = pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")


# The text


def masked(text: str) -> list[str]:
    """The summary's lines with a mark for each number, and the column where the first one stands.

    Numbers stand at the left of their field, but at its right in the lines of latencies.
    """
    lines = text[text.index("SQL statistics:") :].splitlines()
    latencies = lines.index("Latency (ms):")
    return [
        f"{_edge(line, right=latencies < number < latencies + 6)} {_without_numbers(line)}"
        for number, line in enumerate(lines)
    ]


def _edge(line: str, *, right: bool) -> int:
    label = re.search(r": +(?=\d)", line)
    if label is None:
        return 0
    return len(line) if right else label.end()


def _without_numbers(line: str) -> str:
    """A # for each number with its padding, and a dot for each of its decimals."""
    return re.sub(r" *\d+(\.\d+)? *", lambda number: "#" + "." * max(0, len(number.group(1) or "") - 1), line)


@pytest.mark.sysbench
@needs_sysbench
@pytest.mark.one_flavour
def test_the_summary_is_laid_out_like_sysbench(run: Run, tables: PrivateServer) -> None:
    theirs = sysbench(tables.target, run.profile, "--threads=2", "--time=0", f"--events={SYSBENCH_EVENTS}")
    assert masked(run.out) == masked(theirs)
    assert run.out.endswith("\n\n")


@pytest.mark.sysbench
@needs_sysbench
def test_the_interval_line_is_sysbenchs(any_tables: PrivateServer) -> None:
    theirs = sysbench(any_tables.target, "oltp_read_write", "--threads=2", "--time=2", "--report-interval=1")
    assert INTERVAL_LINE.search(theirs)


def test_an_interval_line_a_second(runs: Runs) -> None:
    run = runs.of(TIMED)
    head, started, rest = run.out.partition("Threads started!\n\n")
    assert head.startswith("tuibench ")
    assert started
    lines = rest[: rest.index("\nSQL statistics:")].splitlines()
    assert [line.split(" thds:")[0] for line in lines] == ["[ 1s ]", "[ 2s ]"]
    for line in lines:
        figures = INTERVAL_LINE.fullmatch(line)
        assert figures, line
        transactions, queries, errors = map(float, figures.groups())
        # Each thread's transaction may begin or end in another second; one with an error has fewer queries.
        slack = 4 * THREADS
        fewest, most = transactions - slack, transactions + errors + slack
        assert QUERIES[run.profile] * fewest <= queries <= QUERIES[run.profile] * most
    assert sum(float(tps) for tps in re.findall(r"tps: (\S+)", rest)) > 0


# Thresholds and rows


def test_a_crossed_threshold_sets_the_exit_code_and_rows_are_written(
    any_tables: PrivateServer, tmp_path: Path
) -> None:
    file = tmp_path / "run.csv"
    done = tuibench(
        "run", "oltp_read_write", *TABLES, "--threads=2", "--time=2", f"--csv={file}",
        "--fail-if=tps>0.5", "--fail-if=p99>60s", "--fail-if", "qps > 1/s",
        target=any_tables.target,
    )  # fmt: skip
    assert done.code == 4, done.err
    first, second = done.err.splitlines()[-2:]
    assert re.fullmatch(r"tuibench: tps>0\.5 crossed: [\d,.]+/s", first)
    assert re.fullmatch(r"tuibench: qps > 1/s crossed: [\d,.]+/s", second)
    assert "SQL statistics:" in done.out
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["time"] for row in rows] == ["1", "2"]
    lines = [line for line in done.out.splitlines() if " thds:" in line]
    for row, line in zip(rows, lines, strict=True):
        assert f"thds: {row['threads']} tps: {row['tps']} qps: {row['qps']} " in line
        assert f"(r/w/o: {row['reads']}/{row['writes']}/{row['other']}) " in line
        assert f" lat (ms,95%): {row['latency_pct']} err/s: {row['errors']} " in line
        assert float(row["latency_min"]) <= float(row["latency_p50"]) <= float(row["latency_max"])


# The figures


def test_the_summary_has_its_run_and_statements(run: Run) -> None:
    assert run.summary["schema"] == "tuibench.summary/1"
    assert (run.summary["profile"], run.summary["threads"]) == (run.profile, 2)
    assert run.summary["statements"]
    for statement in run.summary["statements"].values():
        assert statement["p50"] <= statement["p95"] <= statement["p99"] <= statement["max"]


def test_text_and_json_say_the_same(run: Run) -> None:
    def printed(label: str) -> str:
        found = re.search(rf"^ *{re.escape(label)}: +(\S+)", run.out, re.MULTILINE)
        assert found, label
        return found.group(1)

    for label in ("read", "write", "other", "total"):
        assert int(printed(label)) == run.summary["queries"][label]
    assert int(printed("transactions")) == run.summary["transactions"]["total"]
    assert int(printed("ignored errors")) == run.summary["errors"]["total"]
    assert float(printed("95th percentile")) == pytest.approx(run.summary["latency_ms"]["p95"], abs=0.006)


def test_a_transaction_has_sysbenchs_number_of_queries(run: Run) -> None:
    """Exactly, but for the statements of transactions that a deadlock cut short, and their ROLLBACKs."""
    transactions, queries = run.summary["transactions"]["total"], run.summary["queries"]["total"]
    spent_on_errors = queries - transactions * QUERIES[run.profile]
    assert transactions > 0
    assert 0 <= spent_on_errors <= run.summary["errors"]["total"] * QUERIES[run.profile]


def test_the_server_counted_the_same(run: Run) -> None:
    counted = run.summary["reconciliation"]
    assert counted["foreign"] == 0
    assert counted["questions_server"] == counted["questions_client"] + counted["own"]
    assert counted["commits_client"] == counted["commits_server"]
    explicit = run.profile != "oltp_point_select"
    assert counted["commits_client"] == (run.summary["transactions"]["total"] if explicit else 0)
    assert "the server counted the same" in run.err


@pytest.mark.sysbench
@needs_sysbench
def test_the_server_received_sysbenchs_mix_of_statements(run: Run, tables: PrivateServer) -> None:
    """One thread and so many transactions: sysbench's counts are exact. Ours hold the sampling, too."""
    counts = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com_%'"
    before: dict[str, str] = dict(asyncio.run(ask(tables.target, counts)))
    sysbench(tables.target, run.profile, "--threads=1", "--time=0", f"--events={SYSBENCH_EVENTS}")
    after: dict[str, str] = dict(asyncio.run(ask(tables.target, counts)))
    theirs = {name: (int(after[name]) - int(before[name])) / SYSBENCH_EVENTS for name in STATEMENTS}
    deltas, transactions = run.summary["server"]["deltas"], run.summary["transactions"]["total"]
    tried_again = run.summary["retries"] * QUERIES[run.profile]
    more = (tried_again + run.summary["reconciliation"]["own"]) / transactions
    for name in STATEMENTS:
        assert deltas[name] / transactions == pytest.approx(theirs[name], abs=more), name
