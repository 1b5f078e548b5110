"""What stands below a run's summary."""

from tests.examples import summary
from tests.tui.support.probed import OVER
from tuibench.record.report.addenda import addenda


def test_the_summary_of_a_run_tells_its_probes_answer() -> None:
    assert OVER.result is not None
    told = addenda(summary(probe=OVER.result))
    assert OVER.result.lines[0] in told
    assert told.endswith("\n")


def test_a_plain_run_has_nothing_there() -> None:
    assert addenda(summary()) == ""
