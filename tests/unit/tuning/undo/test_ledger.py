"""What the ledger decides, after anything that can happen to a session, its server and its neighbours."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.tuning.undo.journal_entries import (
    ChangeConfirmed,
    ChangeSettled,
    JournalEntry,
    Ledger,
    SettingChange,
    Settlement,
)
from tuibench.tuning.undo.ownership import RestoreAction, decide_restore


def change(seq: int, old: str, new: str, setting: str = "x") -> SettingChange:
    return SettingChange(seq=seq, at=float(seq), setting=setting, old=old, new=new)


def settled(*seqs: int) -> ChangeSettled:
    return ChangeSettled(seqs=seqs, how=Settlement.RESTORED, at=0.0)


ONE: list[JournalEntry] = [change(1, "1", "0"), ChangeConfirmed(1)]
TWO: list[JournalEntry] = [*ONE, change(2, "0", "2"), ChangeConfirmed(2)]
UNSURE = [*ONE, change(2, "0", "2")]
OVER_FOREIGN = [*ONE, change(2, "7", "2"), ChangeConfirmed(2)]
AFTER_RESTART = [*ONE, change(2, "1", "2"), ChangeConfirmed(2)]


@pytest.mark.parametrize(
    ("entries", "current", "action", "original"),
    [
        (ONE, "0", RestoreAction.RESTORE, "1"),
        (ONE, "1", RestoreAction.NOTHING, "1"),
        (ONE, "5", RestoreAction.LEAVE, "1"),
        (TWO, "2", RestoreAction.RESTORE, "1"),
        (TWO, "0", RestoreAction.LEAVE, "1"),
        (UNSURE, "2", RestoreAction.RESTORE, "1"),
        (UNSURE, "0", RestoreAction.RESTORE, "1"),
        (UNSURE, "1", RestoreAction.NOTHING, "1"),
        (UNSURE, "9", RestoreAction.UNCLEAR, "1"),
        (OVER_FOREIGN, "2", RestoreAction.RESTORE, "7"),
        (OVER_FOREIGN, "0", RestoreAction.LEAVE, "7"),
        (AFTER_RESTART, "2", RestoreAction.RESTORE, "1"),
        ([change(1, "1", "0"), change(2, "1", "2")], "2", RestoreAction.RESTORE, "1"),
    ],
)
def test_decisions(entries: list[JournalEntry], current: str, action: RestoreAction, original: str) -> None:
    ledger = Ledger(entries)
    decision = decide_restore("x", current, ledger)
    assert (decision.action, decision.original) == (action, original)
    assert decision.seqs == tuple(entry.seq for entry in entries if isinstance(entry, SettingChange))
    assert ledger.original("x") == original


def test_settled_changes_are_forgotten_and_numbers_go_on() -> None:
    ledger = Ledger([*TWO, change(3, "1", "0", "y"), settled(1, 2)])
    assert ledger.open_settings == ("y",)
    assert ledger.original("x") is None
    assert ledger.last("x") is None
    assert ledger.next_seq == 4


def test_a_refused_change_leaves_the_one_before_it_in_force() -> None:
    ledger = Ledger([*ONE, change(2, "0", "2"), ChangeSettled(seqs=(2,), how=Settlement.REFUSED, at=0.0)])
    assert decide_restore("x", "0", ledger).action == RestoreAction.RESTORE
    assert ledger.last("x") == "0"


class Step(NamedTuple):
    """`ours` sets a value; `confirmed` and `executed` say how far that came. `foreign` is somebody else's."""

    kind: str
    value: str
    executed: bool = True
    confirmed: bool = True


VALUES = st.sampled_from("01239")
OURS = st.builds(Step, st.just("ours"), VALUES, st.booleans(), st.booleans())
FOREIGN = st.builds(Step, st.just("foreign"), VALUES)
RESTART = st.just(Step("restart", ""))


class World:
    """The server's value as it really went, and the ledger that saw only what the journal got."""

    def __init__(self, configured: str) -> None:
        self.configured = self.value = configured
        self.ledger = Ledger()

    def add(self, step: Step) -> None:
        if step.kind == "ours":
            self._change(step)
        else:
            self.value = self.configured if step.kind == "restart" else step.value

    def _change(self, step: Step) -> None:
        if self.value == step.value:
            return
        seq = self.ledger.next_seq
        self.ledger.add(change(seq, self.value, step.value))
        if step.executed:
            self.value = step.value
            if step.confirmed:
                self.ledger.add(ChangeConfirmed(seq))

    def end(self) -> RestoreAction:
        """Does what the ledger says; that settles everything."""
        if not self.ledger.open_settings:
            return RestoreAction.NOTHING
        decision = decide_restore("x", self.value, self.ledger)
        if decision.action == RestoreAction.RESTORE:
            self.value = decision.original
        self.ledger.add(settled(*decision.seqs))
        assert not self.ledger.open_settings
        return decision.action


@given(VALUES, st.lists(OURS | RESTART, max_size=12))
def test_alone_on_the_server_the_original_value_always_comes_back(configured: str, steps: list[Step]) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    assert world.end() != RestoreAction.LEAVE
    assert world.value == configured


@given(VALUES, st.lists(OURS | RESTART | FOREIGN, max_size=12), VALUES)
def test_a_foreign_value_that_was_never_ours_stays(configured: str, steps: list[Step], last: str) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    foreign = f"{last}00"
    world.add(Step("foreign", foreign))
    world.end()
    assert world.value == foreign


@given(VALUES, st.lists(OURS, max_size=6), VALUES)
def test_a_foreign_value_set_before_our_last_change_is_restored(
    configured: str, steps: list[Step], ours: str
) -> None:
    world = World(configured)
    for step in steps:
        world.add(step)
    world.add(Step("foreign", "77"))
    world.add(Step("ours", ours))
    assert world.end() == RestoreAction.RESTORE
    assert world.value == "77"
