"""The durability choices, and what each would ask."""

from tests.tui.support import script
from tuibench.model.command import ApplyPreset, ChangeSetting
from tuibench.tui.screens.confirm import RESTORED_NOTE
from tuibench.tui.screens.durability import ORIGINAL_VALUE_NOTE, durability_choices
from tuibench.tui.view import initial_view


def test_presets_come_first_then_each_setting() -> None:
    found = durability_choices(initial_view(script.hello(60)))
    assert [group.heading for group in found] == [
        "Presets, now flush_log 1, sync_binlog 1",
        f"{script.FLUSH}, now 1",
        f"{script.SYNC}, now 1",
    ]
    assert [choice.proposal.command for choice in found[0].choices] == [
        ApplyPreset("durable"),
        ApplyPreset("relaxed"),
        ApplyPreset("unsafe"),
    ]
    assert found[2].choices[1].proposal.command == ChangeSetting(script.SYNC, "100")


def test_the_present_state_is_marked() -> None:
    found = durability_choices(initial_view(script.hello(84)))
    assert [choice.current for choice in found[0].choices] == [False, False, True]
    assert [choice.current for choice in found[1].choices] == [False, False, True]


def test_a_proposal_says_from_to_and_risk() -> None:
    proposal = durability_choices(initial_view(script.hello(60)))[0].choices[2].proposal
    assert [step.split() for step in proposal.steps] == [
        [script.FLUSH, "1", "→", "0"],
        [script.SYNC, "1", "→", "0"],
    ]
    assert proposal.at_risk
    assert proposal.verdict.startswith("▲ Any crash")


def test_the_way_back_is_called_that_and_leaves_nothing_to_put_back() -> None:
    at_first, relaxed = (durability_choices(initial_view(script.hello(seconds))) for seconds in (60, 84))
    assert [choice.proposal.promise for choice in relaxed[0].choices] == [
        ORIGINAL_VALUE_NOTE,
        RESTORED_NOTE,
        RESTORED_NOTE,
    ]
    assert [choice.proposal.promise for choice in relaxed[1].choices] == [
        ORIGINAL_VALUE_NOTE,
        RESTORED_NOTE,
        RESTORED_NOTE,
    ]
    assert {choice.proposal.promise for choice in at_first[0].choices} == {RESTORED_NOTE}


def test_what_is_safe_is_not_called_a_risk() -> None:
    proposal = durability_choices(initial_view(script.hello(84)))[0].choices[0].proposal
    assert not proposal.at_risk
    assert proposal.verdict.startswith("● Every commit")


def test_a_setting_that_cannot_be_changed_blocks_its_choices_with_the_reason() -> None:
    found = durability_choices(
        initial_view(script.hello(60, script.status(unavailable="1227: no SUPER privilege")))
    )
    assert {choice.obstacle for group in found for choice in group.choices} == {"1227: no SUPER privilege"}
