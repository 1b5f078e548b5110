"""The A/B test of the screen: its dialog, the card while it runs and after it, and what the card offers."""

import msgspec
from textual.widgets import Input

from tests.tui.support import script
from tests.tui.support.driving import SMALL, screen_text, viewer
from tuibench.features.ab.dialog import AbTestDialog
from tuibench.model.effect import AbTestResult, Effect, LevelMovement, MovementKind, Verdict
from tuibench.model.message import Hello, RunState, StartAbTest, StopExperiment


def with_test(result: AbTestResult) -> Hello:
    return script.hello(60, msgspec.structs.replace(script.status(), ab=result))


def unattributed() -> Hello:
    moved = LevelMovement(kind=MovementKind.TREND, percent=-3.0)
    comparisons = tuple(
        msgspec.structs.replace(one, verdict=Verdict.CANNOT_TELL, movement=moved)
        for one in script.EFFECT.comparisons
    )
    effect = msgspec.structs.replace(script.EFFECT, comparisons=comparisons)
    hello = script.hello()
    events = tuple(
        msgspec.structs.replace(event, effect=effect) if event.effect else event for event in hello.events
    )
    return msgspec.structs.replace(hello, events=events)


async def test_a_card_without_a_verdict_offers_the_test_of_that_change() -> None:
    async with viewer(unattributed()) as it:
        assert "TPS was falling by 3 %/s before the change (enter: A/B test)" in " ".join(
            it.shown("effect").split()
        )
        await it.press("A")
        assert it.app.screen.query_one("#values", Input).value == "preset=durable,unsafe"
        await it.press("enter")
        assert it.client.submitted == [StartAbTest(subject="preset", a="durable", b="unsafe")]


async def test_the_key_that_decides_is_named_on_a_small_screen_too() -> None:
    async with viewer(unattributed(), SMALL) as it:
        line = it.shown("effect").splitlines()[-1]
        assert line == "TPS was falling by 3 %/s before (enter: A/B test of both values, about 40s)"
        await it.press("b")
        lines = it.shown("big").splitlines()
        assert " 3  preset unsafe   TPS was falling by 3 %/s before the change" in lines
        assert any(line.split("  ")[0] == "too noisy to tell" for line in lines), "no half of an interval"


async def test_the_dialog_takes_other_values_and_limits() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("A")
        assert it.app.screen.query_one("#values", Input).value == "threads=32,64"
        await it.press(*["backspace"] * len("threads=32,64"))
        for text in ("sync_binlog=1,0", "±5%", "90s"):
            line = it.app.focused
            assert isinstance(line, Input)
            line.value = text
            await it.press("tab")
        await it.press("enter")
        expected = StartAbTest(subject=script.SYNC, a="1", b="0", tolerance_percent=5, max_seconds=90)
        assert it.client.submitted == [expected]


async def test_what_cannot_be_tested_is_said_and_the_dialog_stays() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("A")
        for text, words in (
            ("sync_binlog", "takes SETTING=V1,V2"),
            ("a=1,1", "two different values"),
            ("", "V1,V2"),
        ):
            it.app.screen.query_one("#values", Input).value = text
            await it.press("enter")
            assert isinstance(it.app.screen, AbTestDialog)
            assert words in " ".join(screen_text(it).split()), text
            assert not it.client.submitted


async def test_the_key_ends_a_test_under_way() -> None:
    async with viewer(with_test(script.AB_TEST)) as it:
        assert "A ends it" in it.shown("effect")
        assert it.shown("effect").splitlines()[3] == "4 of at most 60 cycles"
        await it.press("A")
        assert it.client.submitted == [StopExperiment("ab")]


async def test_the_test_of_the_run_is_not_ended_by_the_key() -> None:
    async with viewer(with_test(msgspec.structs.replace(script.AB_TEST, by_hand=False))) as it:
        assert "ends it" not in it.shown("effect")
        await it.press("A")
        assert isinstance(it.app.screen, AbTestDialog)


async def test_the_result_stays_until_a_newer_effect() -> None:
    async with viewer(with_test(msgspec.structs.replace(script.AB_TEST, ended_seconds=50.0))) as it:
        assert it.shown("effect").startswith("A/B ")
        (event,) = [event for event in script.EVENTS if event.effect]
        newer: Effect = msgspec.structs.replace(script.EFFECT, at_seconds=55.0)
        await it.hear(msgspec.structs.replace(event, elapsed_seconds=58.0, effect=newer))
        assert it.shown("effect").startswith("EFFECT of")


async def test_a_paused_run_starts_none_from_a_replay_or_a_screen_that_only_looks() -> None:
    async with viewer(script.hello(60, script.status(RunState.PAUSED)), read_only=True) as it:
        await it.press("A")
        assert not it.client.submitted
        assert not isinstance(it.app.screen, AbTestDialog)
