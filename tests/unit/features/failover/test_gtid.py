"""Sets of GTIDs against Python's own sets."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.features.failover.gtid import GtidSet

NUMBERS = st.sets(st.integers(1, 40))
SOURCES = st.dictionaries(st.sampled_from(["a1", "b2", "b2:tag"]), NUMBERS)


def as_set(found: GtidSet) -> set[tuple[str, int]]:
    return {
        (source, number)
        for source, spans in found.spans.items()
        for first, last in spans
        for number in range(first, last + 1)
    }


def pairs(sources: dict[str, set[int]]) -> set[tuple[str, int]]:
    return {(source, number) for source, numbers in sources.items() for number in numbers}


def built(sources: dict[str, set[int]]) -> GtidSet:
    return GtidSet({source: [(each, each) for each in numbers] for source, numbers in sources.items()})


@given(SOURCES, SOURCES)
def test_sets_are_united_subtracted_and_counted(
    first: dict[str, set[int]], second: dict[str, set[int]]
) -> None:
    one, two = built(first), built(second)
    assert as_set(one | two) == pairs(first) | pairs(second)
    assert as_set(one - two) == pairs(first) - pairs(second)
    assert len(one - two) == len(pairs(first) - pairs(second))
    assert bool(one - two) == bool(pairs(first) - pairs(second))
    assert (one | two) - two == one - two


def test_mysql_writes_intervals_of_each_source_and_tag() -> None:
    text = "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-3:7,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:9:tag:1-2:5"
    assert dict(GtidSet.of_mysql(text).spans) == {
        "3e11fa47-71ca-11e1-9e33-c80aa9429562": ((1, 3), (7, 7)),
        "4e11fa47-71ca-11e1-9e33-c80aa9429562": ((9, 9),),
        "4e11fa47-71ca-11e1-9e33-c80aa9429562:tag": ((1, 2), (5, 5)),
    }
    assert len(GtidSet.of_mysql(text)) == 8
    assert not GtidSet.of_mysql("")


def test_mariadb_writes_the_last_transaction_of_each_domain_and_server() -> None:
    old, new = GtidSet.of_mariadb("0-1-1200,5-1-7"), GtidSet.of_mariadb("0-1-1100,5-1-7,0-2-1500")
    assert len(old - new) == 100
    assert dict((old - new).spans) == {"0-1": ((1101, 1200),)}
    assert not GtidSet.of_mariadb("")
