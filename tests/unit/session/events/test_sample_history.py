"""The past is bounded and slim; the newest sample is whole."""

import msgspec
import pytest

from tests.examples import LATENCY, load_part, sample
from tests.tui.support.script import server_part
from tuibench.model.measurements.sample import Sample
from tuibench.session.events.event_log import SampleHistory


def whole(number: int) -> Sample:
    server = msgspec.structs.replace(server_part(1, 100.0, 8, 1.0), counters={"Questions": 1})
    return sample(number, load=load_part(statements={"begin": LATENCY}), server=server)


@pytest.mark.parametrize(("wanted", "got"), [(0, []), (1, [5]), (2, [4, 5]), (3, [3, 4, 5]), (9, [3, 4, 5])])
def test_the_newest_are_kept_in_order(wanted: int, got: list[int]) -> None:
    history = SampleHistory(most=3)
    for number in range(1, 6):
        history.add(sample(number))
    assert [each.number for each in history.newest(wanted)] == got


def test_only_the_newest_is_whole() -> None:
    history = SampleHistory()
    history.add(whole(1))
    history.add(whole(2))
    old, new = history.newest(2)
    assert new == whole(2)
    assert old.load == load_part(statements={})
    assert old.server is not None
    assert old.server.counters == {}


def test_a_sample_with_missing_parts_stays_one() -> None:
    history = SampleHistory()
    history.add(sample(1, load=None, server=None))
    history.add(sample(2))
    assert history.newest(2)[0] == sample(1, load=None, server=None)
