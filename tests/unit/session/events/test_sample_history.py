"""The past is bounded and slim; the newest sample is whole."""

import msgspec
import pytest

from tests.examples import LATENCY, load_part, sample
from tests.tui.support.script import server_part
from tuibench.metrics.figures import read
from tuibench.model.counters import CUMULATIVE_NAMES, GAUGE_NAMES
from tuibench.model.measurements.sample import Sample
from tuibench.session.events.event_log import SampleHistory


def whole(number: int) -> Sample:
    server = server_part(1, 100.0, 8, 1.0)
    return sample(number, load=load_part(statements={"begin": LATENCY}), server=server)


def kept(history: SampleHistory, wanted: int) -> list[Sample]:
    """The samples as a viewer decodes them."""
    return msgspec.json.decode(msgspec.json.encode(history.newest(wanted)), type=list[Sample])


@pytest.mark.parametrize(("wanted", "got"), [(0, []), (1, [5]), (2, [4, 5]), (3, [3, 4, 5]), (9, [3, 4, 5])])
def test_the_newest_are_kept_in_order(wanted: int, got: list[int]) -> None:
    history = SampleHistory(most=3)
    for number in range(1, 6):
        history.add(sample(number))
    assert [each.number for each in kept(history, wanted)] == got


def test_only_the_newest_is_whole() -> None:
    history = SampleHistory()
    history.add(whole(1))
    history.add(whole(2))
    old, new = kept(history, 2)
    assert new.tick.sums == whole(2).tick.sums
    assert old.load is not None
    assert (old.load.named("stmt."), old.tick.hist("response")) == ({}, whole(1).tick.hist("response"))
    assert old.server is not None
    new_server = new.server
    assert new_server is not None
    assert not (CUMULATIVE_NAMES | GAUGE_NAMES) & set(old.tick.levels)
    assert {name for name in old.tick.sums if name in CUMULATIVE_NAMES} == {
        "Innodb_os_log_fsyncs",
        "Innodb_data_fsyncs",
        "Innodb_buffer_pool_reads",
        "Innodb_buffer_pool_read_requests",
    }
    for figure in ("threads_running", "threads_connected", "open_tables", "pool_hit"):
        assert read(figure, old.server) == read(figure, new_server) is not None, figure
    assert read("fsyncs", old.server) == read("fsyncs", new_server) == 1.0


def test_a_sample_with_missing_parts_stays_one() -> None:
    history = SampleHistory()
    history.add(sample(1, load=None, server=None))
    history.add(sample(2))
    assert kept(history, 2)[0] == sample(1, load=None, server=None)
