"""Events: which of them count, and the experiments as bands."""

from msgspec.structs import replace

from tests.tui.support import script
from tuibench.model.event import Event, EventKind, bands, latest_events, one_entry_an_experiment


def event(
    at: float,
    text: str,
    kind: EventKind = EventKind.SETTING,
    *,
    marker: int | None = None,
    experiment: str = "",
) -> Event:
    return Event(at=1e9 + at, elapsed_seconds=at, kind=kind, text=text, marker=marker, experiment=experiment)


def probe_step(at: float, text: str, marker: int | None = None) -> Event:
    return event(at, f"probe: {text}", EventKind.PROBE, marker=marker, experiment="probe")


PROBED = [
    probe_step(1.0, "1 thread (up)", 1),
    event(5.0, "12 transactions failed", EventKind.ERRORS),
    event(5.5, "mark", EventKind.MARK, marker=2),
    probe_step(6.5, "2 threads (up)"),
    event(9.0, "probe: saturated at 2 threads", EventKind.PLAN, experiment="probe"),
    probe_step(20.0, "1 thread (up)", 3),
]


def test_each_experiment_is_one_band_until_its_end() -> None:
    found = [(band.label, band.start_seconds, band.end_seconds, len(band.steps)) for band in bands(PROBED)]
    assert found == [("1 probe", 1.0, 9.0, 2), ("3 probe", 20.0, 20.0, 1)]


def test_an_experiment_that_decides_a_change_ends_with_the_next_change() -> None:
    alternated = [event(at, "sync_binlog", experiment="alternation") for at in (3.0, 5.5, 8.0)]
    change = event(9.5, "threads 8 → 16", EventKind.THREADS, marker=4)
    again = [event(at, "sync_binlog", experiment="alternation") for at in (12.0, 14.5)]
    late = event(9.9, "the alternation has ended", EventKind.EFFECT, experiment="alternation")
    found = bands([*alternated, change, late, *again])
    assert [(band.label, band.start_seconds, band.end_seconds) for band in found] == [
        ("alternation", 3.0, 8.0),
        ("alternation", 12.0, 14.5),
    ]


def test_the_steps_of_an_experiment_are_one_entry() -> None:
    assert [(each.marker, each.text) for each in one_entry_an_experiment(PROBED)] == [
        (None, "12 transactions failed"),
        (2, "mark"),
        (1, "probe: 2 steps, the last: 2 threads (up)"),
        (None, "probe: saturated at 2 threads"),
        (3, "probe: 1 thread (up)"),
    ]


def test_an_event_takes_the_place_of_one_with_its_marker() -> None:
    first, mark = (
        event(1.0, "threads 8 → 9", EventKind.THREADS, marker=1),
        event(1.2, "sync_binlog 1 → 0", marker=2),
    )
    whole = event(1.9, "threads 8 → 11", EventKind.THREADS, marker=1)
    warning = event(2.0, "12 transactions failed", EventKind.ERRORS)
    effects = [
        replace(event(at, "TPS +3 %", EventKind.EFFECT, marker=1), effect=script.EFFECT) for at in (9.0, 30.0)
    ]
    assert latest_events([first, mark, warning, whole, *effects]) == (mark, warning, whole, *effects)
