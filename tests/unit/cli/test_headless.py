"""Runs without a screen, and private servers."""

import errno
import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import asdict, replace

from tests.examples import EVENT, LATENCY, sample, summary
from tests.paths import DATA
from tests.tui.support.script import AB_TEST
from tests.unit.tuning.fakes import FakeClock
from tuibench.base.errors import ExitCode, RunError, ServerUnavailableError, UsageError
from tuibench.cli import runner
from tuibench.cli.headless import (
    CsvWriter,
    EventNotes,
    IntervalPrinter,
    ThresholdWatch,
    final_exit_code,
    note,
    open_csv,
    write_summary_json,
)
from tuibench.cli.options import PrivateServerOptions
from tuibench.metrics.thresholds import parse_threshold
from tuibench.model.event import Event, EventKind, Trouble, TroubleKind
from tuibench.model.message import RunState, Status
from tuibench.model.plan import RunPlan
from tuibench.model.summary import ErrorTotals, KindTotals, Reconciliation, Summary, TransactionTotals
from tuibench.model.tick import Histogram, Latency, Tick
from tuibench.record.recorder import pretty_json
from tuibench.record.sysbench_report import CSV_HEADER, head_text
from tuibench.report.text import run_notes
from tuibench.session.events import EventLog

# What a run without a screen prints: data to stdout, talk to stderr.


def second_of(transactions: int, rate: float = 0.0, end: float = 1.0, backlog: int = 0) -> Tick:
    return Tick(
        end=end,
        seconds=1.0,
        sums={"completed": transactions, "queries": 0, "error.1213": 2},
        levels={"threads": 8, "rate": rate, "backlog": backlog, "in_flight": 8},
        hists={"response": Histogram.of([1000] * transactions)},
    )


def test_ticks_between_two_lines_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    printer = IntervalPrinter(2.0, (95.0,))
    for number in range(1, 6):
        printer.tick(second_of(number * 10, end=float(number)))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[ 2s ] thds: 8 tps: 15.00 ")
    assert second.startswith("[ 4s ] thds: 8 tps: 35.00 ")


def status(state: RunState) -> Status:
    return Status(state=state, threads=8, workers=1, settings=(), presets=())


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((RunState.STARTING, RunState.WARMING, RunState.RUNNING), "Threads started!\n\n"),
        ((RunState.RUNNING, RunState.PAUSED, RunState.RUNNING), "Threads started!\n\n"),
        ((RunState.STARTING, RunState.STOPPING, RunState.ENDED), ""),
        ((RunState.STARTING,), ""),
    ],
)
def test_the_start_of_the_threads_is_printed_once(
    capsys: pytest.CaptureFixture[str], states: tuple[RunState, ...], expected: str
) -> None:
    printer = IntervalPrinter(1.0, (95.0,))
    for state in states:
        printer.state(status(state))
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("plan", "lines"),
    [
        (RunPlan(profile="x", threads=4, seed=7, report_seconds=0), ["Number of threads: 4"]),
        (
            RunPlan(profile="x", threads=4, seed=7, rate=40, report_seconds=10),
            [
                "Number of threads: 4",
                "Target transaction rate: 40/sec",
                "Report intermediate results every 10 second(s)",
            ],
        ),
    ],
)
def test_the_head_is_sysbenchs(plan: RunPlan, lines: list[str]) -> None:
    assert head_text("1.2.3", plan).splitlines() == [
        "tuibench 1.2.3, in the format of sysbench 1.0.20 (not sysbench itself)",
        "",
        "Running the test with following options:",
        *lines,
        "Initializing random number generator from seed (7).",
        "",
        "",
        "Initializing worker threads...",
        "",
    ]


def test_with_a_rate_each_line_is_followed_by_the_queue(capsys: pytest.CaptureFixture[str]) -> None:
    printer = IntervalPrinter(2.0, (99.0, 50.0))
    for number in range(1, 5):
        printer.tick(second_of(10, rate=10.0, end=float(number), backlog=number))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "thds" not in line] == [
        "[ 2s ] queue length: 2, concurrency: 8",
        "[ 4s ] queue length: 4, concurrency: 8",
    ]
    assert all("lat (ms,99%): 1.00" in line for line in lines[::2])


def test_without_a_percentile_the_lines_show_none(capsys: pytest.CaptureFixture[str]) -> None:
    IntervalPrinter(1.0, ()).tick(second_of(10))
    assert "lat (ms,0%): 0.00" in capsys.readouterr().out


def test_an_interval_of_zero_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    printer = IntervalPrinter(0, (95.0,))
    printer.tick(second_of(10))
    assert capsys.readouterr().out == ""


def test_a_tick_that_is_a_little_early_still_prints(capsys: pytest.CaptureFixture[str]) -> None:
    printer = IntervalPrinter(0.3, (95.0,))
    for tenths in range(1, 10):
        printer.tick(second_of(1, end=0.1 * tenths))
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_what_an_operator_must_know_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    EventNotes(note).hear(
        msgspec.structs.replace(EVENT, kind=EventKind.RESTART, elapsed_seconds=12.4, text="restarted")
    )
    EventNotes(note).hear(msgspec.structs.replace(EVENT, kind=EventKind.START))
    EventNotes(note).hear(sample())
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "at 12 s: restarted\n")


def test_what_is_said_before_the_measured_time_is_of_the_warm_up(capsys: pytest.CaptureFixture[str]) -> None:
    for elapsed in (-1.4, -0.1, 0.0):
        EventNotes(note).hear(
            msgspec.structs.replace(EVENT, kind=EventKind.RESTART, elapsed_seconds=elapsed, text="restarted")
        )
    assert capsys.readouterr().err.splitlines() == [
        "in the warm-up: restarted",
        "in the warm-up: restarted",
        "at 0 s: restarted",
    ]


# Notes below the summary


RESTART = msgspec.structs.replace(EVENT, kind=EventKind.RESTART)


def counted(server: int | None, foreign: int | None) -> Summary:
    return summary(
        reconciliation=Reconciliation(
            questions_client=3195,
            questions_server=server,
            own=5,
            foreign=foreign,
            commits_client=158,
            commits_server=158,
        )
    )


LAST_NOTE = "52.0 TPS, p95 590.56 ms"
"""The figures that are looked for first, last."""


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (counted(3200, 0), "the server counted the same 3,195 statements"),
        (
            counted(4200, 1000),
            "counted 4,195 statements, 1,000 more than tuibench sent: other clients are active",
        ),
        (counted(3190, -10), "counted 3,185 statements, 10 fewer than tuibench sent"),
        (
            counted(None, None),
            "the server's counters cannot be compared: they were reset, not read, or not reported",
        ),
        (
            msgspec.structs.replace(counted(None, None), events=(RESTART,)),
            "the server's counters cannot be compared: it was restarted",
        ),
    ],
)
def test_the_reconciliation_in_words(figures: Summary, words: str) -> None:
    assert words in "\n".join(run_notes(figures, "/runs/1"))


def test_all_that_sysbench_has_no_place_for(tmp_path: Path) -> None:
    (tmp_path / "summary.json").touch()
    figures = summary(
        outcome="failed",
        failure="the server went away",
        errors=ErrorTotals(total=5, by_code={"1205": 2, "1213": 3}),
        retries=4,
        abandoned=2,
        warnings=("client-limited",),
    )
    assert run_notes(figures, str(tmp_path)) == [
        "failed: the server went away",
        "errors by code: 1205 lock wait timeout × 2, 1213 deadlock × 3; transactions retried: 4",
        "abandoned, in flight or due: 2",
        "the server counted the same 3,195 statements",
        "warning: client-limited",
        f"recorded in {tmp_path}",
        LAST_NOTE,
    ]


def test_a_record_that_ended_early_is_not_passed_off_as_whole(tmp_path: Path) -> None:
    assert run_notes(summary(), str(tmp_path))[-2:] == [
        f"recorded partially, without a summary, in {tmp_path}",
        LAST_NOTE,
    ]


def test_the_last_line_of_an_ab_test_is_its_answer(tmp_path: Path) -> None:
    notes = run_notes(summary(ab=AB_TEST), str(tmp_path))
    assert notes[-2:] == [LAST_NOTE, "sync_binlog 0 against 1: TPS +55 % (49..61 %), p95 −54 % (−57..−51 %)"]
    failed = summary(ab=AB_TEST, outcome="failed", failure="the server went away")
    assert run_notes(failed, str(tmp_path))[-1] == LAST_NOTE


def test_a_warning_is_printed_once() -> None:
    """When it arises; what is known of the whole run alone, at the end."""
    said: list[str] = []
    notes = EventNotes(said.append)
    busy = "host busy: other programs use {} % of CPU"
    notes.hear(replace(EVENT, elapsed_seconds=3.0, kind=EventKind.WARNING, text=busy.format(41)))
    notes.hear(replace(EVENT, kind=EventKind.THREADS, text="threads 8 → 16"))
    said += run_notes(notes.of_end(summary(warnings=(busy.format(67), "incomplete: box2"))), "/runs/1")
    assert [line for line in said if "host busy" in line] == [f"at 3 s: {busy.format(41)}"]
    assert "warning: incomplete: box2" in said
    assert not any("threads 8" in line for line in said)


def test_an_open_loop_tells_what_was_due_and_how_fast_the_server_was() -> None:
    figures = summary(
        scheduled=1200,
        transactions=TransactionTotals(total=1150, per_second=50.0),
        failed=3,
        service_ms=msgspec.structs.replace(LATENCY, p50=1.234, p95=2.5, p99=9.0),
    )
    assert (
        "of 1,200 due, 1,150 done, 3 failed; latency is response time, from the scheduled start; "
        "service time: p50 1.23, p95 2.50, p99 9.00 ms"
    ) in run_notes(figures, "/runs/1")


def test_an_error_without_a_name_is_shown_by_its_code() -> None:
    figures = summary(errors=ErrorTotals(total=1, by_code={"59999": 1}))
    assert "errors by code: 59999 × 1; transactions retried: 2" in run_notes(figures, "/runs/1")


def test_a_quiet_run_has_three_notes() -> None:
    quiet = summary(errors=ErrorTotals(total=0, by_code={}), retries=0)
    assert len(run_notes(quiet, "/runs/1")) == 3


def test_a_run_without_transactions_has_no_last_figures() -> None:
    empty = summary(transactions=TransactionTotals(total=0, per_second=0.0))
    assert run_notes(empty, "/runs/1")[-1].startswith("recorded")


# Thresholds

SLOW = replace(second_of(100), hists={"response": Histogram.of([60_000] * 100)})


@pytest.mark.parametrize(
    ("code", "judgement"),
    [
        (ExitCode.DONE, ExitCode.THRESHOLD_CROSSED),
        (ExitCode.RUN_FAILED, ExitCode.RUN_FAILED),
        (ExitCode.INTERRUPTED, ExitCode.INTERRUPTED),
    ],
)
def test_each_crossed_threshold_has_a_line_and_a_run_that_failed_keeps_its_code(
    code: ExitCode, judgement: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    thresholds = tuple(map(parse_threshold, ("p95>50ms", "tps<10", "errors>0")))
    assert final_exit_code(code, thresholds, SLOW) == judgement
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "tuibench: p95>50ms crossed: 60 ms",
        "tuibench: errors>0 crossed: 2",
    ]
    assert captured.out == ""


def test_thresholds_that_nothing_crosses_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert final_exit_code(ExitCode.DONE, (parse_threshold("p95>61ms"),), SLOW) == ExitCode.DONE
    assert final_exit_code(ExitCode.DONE, (), Tick()) == ExitCode.DONE
    assert capsys.readouterr().err == ""


# CSV


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("what was there before")
    with open_csv(str(file), 2.0, (95.0,)) as rows:
        assert rows is not None
        assert file.read_text() == CSV_HEADER
        for number in range(1, 6):
            rows.tick(second_of(number * 10, end=float(number)))
            assert file.read_text().count("\n") == 1 + number // 2
    lines = file.read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [["2", "8", "15.00"], ["4", "8", "35.00"]]


def test_rows_go_to_stdout_or_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_csv("-", 1.0, ()) as rows:
        assert rows is not None
        rows.tick(second_of(3))
    assert capsys.readouterr().out.startswith(CSV_HEADER + "1,8,3.00,")
    with pytest.raises(UsageError, match="cannot write /dev/full"), open_csv("/dev/full", 1.0, ()):
        pass
    with open_csv("", 1.0, ()) as rows:
        assert rows is None
    nowhere = str(tmp_path / "no" / "file")
    with pytest.raises(UsageError, match=r"cannot write .*: No such"), open_csv(nowhere, 1.0, ()):
        raise AssertionError("it was opened")


# JSON


def test_a_csv_that_finds_no_more_room_is_said_once_and_ends_no_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written: list[str] = []

    def write(text: str) -> None:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(text)

    rows = CsvWriter(write, 1.0, ())
    for number in range(1, 4):
        rows.tick(second_of(10, end=float(number)))
    assert (len(written), rows.is_cut) == (2, True)
    assert capsys.readouterr().err == (
        "tuibench: no more rows of CSV can be written: No space left on device\n"
    )


def test_json_goes_to_a_file_or_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_summary_json(str(tmp_path / "s.json"), summary())
    assert (tmp_path / "s.json").read_bytes() == pretty_json(summary())
    write_summary_json("-", summary())
    assert capsys.readouterr().out.encode() == pretty_json(summary())


def test_json_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*: No such file or directory"):
        write_summary_json(str(tmp_path / "no" / "s.json"), summary())


# A private server of a command: what happens when it ends by itself.


class PlayedServer:
    """A server that is played; `end` is the reason why it ended."""

    directory = Path("/var/tmp/x")

    def __init__(self) -> None:
        self.log: list[str] = []
        self.end: ServerUnavailableError | None = None

    async def check_running(self) -> None:
        if self.end is not None:
            raise self.end

    async def stop(self) -> None:
        self.log.append("stop")

    def release(self) -> None:
        self.log.append("release")

    def how_to_reach(self) -> str:
        return "connect: here"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PlayedServer:
    played = PlayedServer()

    async def start(*_arguments: object, **_options: object) -> PlayedServer:
        return played

    monkeypatch.setattr(runner, "_start_server", start)
    return played


def test_a_server_that_runs_is_stopped(server: PlayedServer) -> None:
    with runner.private_server("", PrivateServerOptions()):
        assert server.log == []
    assert server.log == ["stop"]


def run_command(failure: RunError | None) -> None:
    with runner.private_server("", PrivateServerOptions()):
        if failure is not None:
            raise failure


@pytest.mark.parametrize("failure", [None, RunError("the run ended without a result")])
def test_the_end_of_the_server_is_the_reason(server: PlayedServer, failure: RunError | None) -> None:
    server.end = ServerUnavailableError("the kernel killed it")
    with pytest.raises(ServerUnavailableError, match="the kernel killed it"):
        run_command(failure)
    assert server.log == ["stop"]


def test_another_error_stays_what_it_is(server: PlayedServer) -> None:
    with (
        pytest.raises(RunError, match="without a result"),
        runner.private_server("", PrivateServerOptions()),
    ):
        raise RunError("the run ended without a result")
    assert server.log == ["stop"]


@pytest.mark.parametrize(
    ("end", "said"),
    [(None, "connect: here"), (ServerUnavailableError("gone"), "its files: /var/tmp/x")],
)
def test_a_server_that_is_kept(
    server: PlayedServer,
    capsys: pytest.CaptureFixture[str],
    end: ServerUnavailableError | None,
    said: str,
) -> None:
    server.end = end
    try:
        with runner.private_server("", PrivateServerOptions(), keep=True):
            pass
    except ServerUnavailableError as error:
        assert error is end  # noqa: PT017
    assert server.log == ["release"]
    assert said in capsys.readouterr().err


PRINTED_BY_SYSBENCH = "".join(
    (DATA / f"sysbench-{name}.txt").read_text() for name in ("summary", "summary-percentile-0", "interval")
)


def labels_of(text: str) -> set[str]:
    """What stands before the colons of sysbench's report and of its interval lines."""
    found = {line.partition(":")[0].strip() for line in text.splitlines() if ":" in line and line[0] != "["}
    rows = [line.partition("]")[2] for line in text.splitlines() if line[:1] == "["]
    return (found | {word for row in rows for word in re.findall(r"(\S+):(?= )", row)}) - {""}


def test_no_note_beside_the_report_has_a_label_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Logs hold stdout and stderr together, and are searched for these labels."""
    labels = labels_of(PRINTED_BY_SYSBENCH + "Number of threads: 8\n")
    assert {"transactions", "queries", "95th percentile", "total time", "thds", "(r/w/o"} <= labels
    for label in labels:
        note(f"warning: the host's {label}: no such file")
        assert f"{label}:" not in capsys.readouterr().err
    read = Latency(count=3, min=1.0, avg=2.0, p50=2.0, p95=3.0, p99=3.0, p999=3.0, max=3.0)
    kinds = {"read": KindTotals(**asdict(read), p90=3.0, retries=0, rolled_back=0)}
    for line in run_notes(summary(by_transaction=kinds), "/runs/1"):
        note(line)
    printed = capsys.readouterr().err
    assert "read – 3 transactions" in printed
    assert not [label for label in labels if f"{label}:" in printed]
    event = Event(at=0.0, elapsed_seconds=12.0, kind=EventKind.RESTART, text="restarted")
    EventNotes(note).hear(event)
    assert not capsys.readouterr().err.startswith("[")


def test_a_limit_is_told_once_until_it_is_kept_again() -> None:
    """Three intervals in a row; one that keeps it, or of which nothing is known, begins anew."""
    log = EventLog(FakeClock(), lambda event: None)
    watch = ThresholdWatch((parse_threshold("tps<100"), parse_threshold("p95>1s")), log)
    rates = [50, 50, 200, 50, 50, 50, 50, 150, 50, 50, 50]
    for number, rate in enumerate(rates):
        watch.tick(second_of(rate, end=number + 1.0))
    assert [(event.kind, event.text) for event in log.events] == [
        (EventKind.WARNING, "tps<100 in 3 intervals in a row: 50/s")
    ] * 2
    assert [event.trouble for event in log.events] == [
        Trouble(TroubleKind.LIMIT, 3.0, 6.0),
        Trouble(TroubleKind.LIMIT, 8.0, 11.0),
    ]
