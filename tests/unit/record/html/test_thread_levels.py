"""A report has no averages over several numbers of threads, and no card without an effect."""

from pathlib import Path

from msgspec.structs import replace

from tests.examples import load_part
from tests.ticks import changed
from tests.unit.record.html.test_page import read
from tests.unit.record.steady import steady
from tuibench.model.event import Event, EventKind
from tuibench.model.histogram import Histogram
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.run_report import html_report, thread_levels


def with_threads(run: Run, *threads: int) -> Run:
    """The run, with these numbers of threads in equal parts, and as many times the transactions."""
    part = len(run.samples) // len(threads)
    samples = []
    for place, sample in enumerate(run.samples):
        number = threads[min(place // part, len(threads) - 1)]
        samples.append(
            changed(sample, load=load_part(threads=number, transactions_per_second=100.0 * number))
        )
    return replace(run, samples=tuple(samples))


def test_a_run_with_several_numbers_of_threads_has_a_row_for_each(tmp_path: Path) -> None:
    run = with_threads(load_run(steady(tmp_path, "run")), 2, 8, 2)
    assert [(level.threads, round(level.tps)) for level in thread_levels(run)] == [
        (2, 200),
        (8, 800),
        (2, 200),
    ]
    text = read(html_report(run)).text
    assert "most transactions per second\n800.0\nwith 8 threads" in text
    assert "\nqueries per second\n" not in text


def test_the_p95_of_a_level_is_that_of_all_its_transactions(tmp_path: Path) -> None:
    """4 % are slow, all of them in one tick of five: the mean of the ticks' p95 is 108 ms."""
    run = load_run(steady(tmp_path, "run"))
    slow, fast = Histogram.of([500_000] * 40), Histogram.of([10_000] * 240)
    ticks = [
        replace(run.samples[0].tick, end=float(end), seconds=1.0, hists={"response": hist})
        for end, hist in enumerate((slow, fast, fast, fast, fast), 1)
    ]
    samples = tuple(replace(run.samples[0], tick=tick) for tick in ticks)
    (level,) = thread_levels(replace(run, samples=samples))
    assert level.p95_ms is not None
    assert level.p95_ms < 20.0


def test_a_run_with_one_number_of_threads_has_its_averages(tmp_path: Path) -> None:
    text = read(html_report(load_run(steady(tmp_path, "run")))).text
    assert "transactions per second" in text
    assert "most transactions" not in text


def test_a_change_without_an_effect_has_no_card(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "run"))
    mark = Event(at=1.0, elapsed_seconds=3.0, kind=EventKind.MARK, text="here", marker=1)
    page = html_report(replace(run, events=(mark,), summary=replace(run.summary, effects=())))
    assert 'class="card"' not in page
    assert "No effect of a change was measured" in page
