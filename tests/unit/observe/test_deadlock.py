"""The last deadlock in InnoDB's words: real ones of both servers."""

import pytest

from tests.paths import DATA
from tests.tables import for_each
from tuibench.observe.activity.locks import last_deadlock

UPDATE = "UPDATE locks SET v=? WHERE id=?"
OTHER = "UPDATE locks SET v=? WHERE id = ?"


@pytest.mark.parametrize(
    ("flavour", "at", "parties"),
    [
        ("mariadb", "2026-11-21 03:50:28", [(8, UPDATE, True), (9, OTHER, False)]),
        ("mysql", "2026-11-21 03:50:30", [(13, OTHER, False), (12, UPDATE, True)]),
    ],
)
def test_who_wanted_what_and_who_lost(flavour: str, at: str, parties: list[tuple[int, str, bool]]) -> None:
    deadlock = last_deadlock((DATA / f"innodb-deadlock-{flavour}.txt").read_text())
    assert deadlock is not None
    assert deadlock.at == at
    told = [(party.connection, party.statement, party.rolled_back) for party in deadlock.parties]
    assert told == parties
    assert all(party.tables == ("sbtest.locks",) for party in deadlock.parties)


@for_each("flavour", ["mariadb", "mysql"])
@for_each("length", range(0, 4000, 97))
def test_a_status_that_is_cut_off_breaks_nothing(flavour: str, length: int) -> None:
    """The server cuts its status at 64 KiB to 1 MiB, wherever that falls."""
    deadlock = last_deadlock((DATA / f"innodb-deadlock-{flavour}.txt").read_text()[:length])
    assert deadlock is None or len(deadlock.parties) <= 2


def test_no_deadlock_so_far() -> None:
    assert (
        last_deadlock("=====\nINNODB MONITOR OUTPUT\n=====\n------------\nTRANSACTIONS\n------------\n")
        is None
    )
