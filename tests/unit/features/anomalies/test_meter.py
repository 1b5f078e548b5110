"""The anomaly meter without a server: what its profile runs, what a count lacks, and how it is reported."""

import pytest

from tests.tables import for_each
from tuibench.base.document import write_text
from tuibench.features.anomalies.tables import ANOMALY_TALLY, LOST_UPDATES, READERS, UPDATES
from tuibench.metrics.figures import ANOMALY_KINDS, FIGURES, all_values
from tuibench.model.tick import ANOMALY, Tick
from tuibench.observe.tally import MISSING, REPEATED, compared, seen_by_readers
from tuibench.report.anomalies import anomalies_section, anomalies_sentence
from tuibench.workload.library import load_program
from tuibench.workload.program import all_steps


@pytest.mark.parametrize("fix", ["none", "for-update", "for-share", "atomic", "version"])
def test_each_remedy_has_its_own_statements(fix: str) -> None:
    program = load_program("anomalies", {"anomaly_fix": fix})
    sql = " ".join(
        statement.sql[0]
        for transaction in program.transactions
        if transaction.name == "increment"
        for step in all_steps(transaction.steps)
        for statement in step.statements
    )
    assert ("FOR UPDATE" in sql) == (fix == "for-update")
    assert ("LOCK IN SHARE MODE" in sql) == (fix == "for-share")
    assert ("n = n + 1" in sql) == (fix == "atomic")
    assert ("SIGNAL" in sql) == (fix == "version")
    assert {each.name for each in program.transactions} >= {ANOMALY_TALLY.transaction, *READERS}


@for_each(
    ("acknowledged", "unknown", "committed", "overwritten", "missing", "repeated", "lost"),
    [
        (7, 0, 7, 0, 0, 0, 0),
        (7, 0, 7, 2, 0, 0, 2),
        (7, 3, 9, 2, 0, 0, 2),
        (7, 0, 6, 2, 1, 0, 3),
        (7, 3, 6, 0, 1, 0, 1),
        # The second one of two equal updates overwrites the first.
        (7, 0, 8, 1, 0, 1, 0),
        # An atomic update that is applied twice overwrites nothing.
        (7, 0, 8, 0, 0, 1, 0),
        (7, 2, 11, 3, 0, 2, 1),
    ],
)
def test_acknowledged_commits_are_compared_with_the_tables(
    acknowledged: int, unknown: int, committed: int, overwritten: int, missing: int, repeated: int, lost: int
) -> None:
    grown: dict[str, float] = {UPDATES: committed, LOST_UPDATES: overwritten}
    found = compared(ANOMALY_TALLY, grown, acknowledged, unknown)
    assert (found[MISSING], found[REPEATED], overwritten + found[LOST_UPDATES]) == (missing, repeated, lost)


def test_a_reader_that_saw_nothing_counts_as_zero() -> None:
    seen = seen_by_readers(ANOMALY_TALLY, {"phantom": 3, "abandon": 8})
    assert seen == {**dict.fromkeys(READERS.values(), 0), ANOMALY + "phantoms": 3}


def test_every_anomaly_is_a_figure_and_part_of_their_number() -> None:
    counted = {
        name for name in (*ANOMALY_TALLY.names, *READERS.values(), REPEATED) if name.startswith(ANOMALY)
    }
    assert counted == {ANOMALY + name for name in ANOMALY_KINDS}
    tick = Tick(seconds=2.0, sums={name: number for number, name in enumerate(sorted(counted), start=1)})
    values = all_values(tick)
    assert sum(values[name] for name in ANOMALY_KINDS) == values["anomalies"] == 36
    assert values["anomalies_per_second"] == 18


def test_a_load_that_counts_no_anomalies_has_no_figure_of_them() -> None:
    values = all_values(Tick(seconds=2.0, sums={"completed": 4.0, "rolled_back.phantom": 3.0}))
    assert not values.keys() & {"anomalies", "lost_updates_share", *ANOMALY_KINDS}
    assert anomalies_sentence(values) == ""
    assert anomalies_section(values) is None


def test_the_share_of_lost_updates_is_that_of_a_window() -> None:
    ticks = [
        Tick(end=0.5, seconds=0.5, sums={LOST_UPDATES: 3, UPDATES: 10}),
        Tick(end=3.5, seconds=3.0, sums={LOST_UPDATES: 1, UPDATES: 90}),
    ]
    assert FIGURES["lost_updates_share"].value(ticks[0] + ticks[1]) == 4.0
    assert FIGURES["lost_updates"].share == "lost_updates_share"


def test_a_run_tells_its_anomalies_in_a_line() -> None:
    figures = {
        "anomalies": 43.0, "lost_updates": 41.0, "lost_updates_share": 0.0341, "counted_updates": 120_310.0,
        "write_skews": 2.0, "phantoms": 0.0, "missing_commits": 1.0, "conflicts": 230.0,
    }  # fmt: skip
    assert anomalies_sentence(figures) == (
        "lost updates 41 of 120,310 (0.034 %), 1 of them missing in the table · write skews 2 · 1020: 230.0/s"
    )
    section = anomalies_section(figures)
    assert section is not None
    assert "41 of 120,310 (0.034 %)" in write_text([section])
