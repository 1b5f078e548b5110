"""What comes of a key: the answer, the refusal, what is asked before; hints, and keys of the user's own."""

import msgspec
import pytest
from textual.widgets import Input, OptionList, Static

from tests.examples import hello, sample
from tests.tui.pictures.screenshots import CATALOGUE, SCREENS, Scene
from tests.tui.support import catalogue, script
from tests.tui.support.driving import SMALL, screen_text, viewer
from tuibench.model.effect import Verdict
from tuibench.model.message import (
    READ_ONLY_REFUSAL,
    ChangeSetting,
    Command,
    CommandReply,
    Mark,
    Pause,
    Resume,
    ResumePlan,
    RunState,
    SetRate,
    SetThreads,
    StartAbTest,
    StartProbe,
    StartTune,
    Stop,
    Watch,
)
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import PlanPhase
from tuibench.model.tune import parse_tune_words
from tuibench.tui.actions import ACTIONS, is_possible
from tuibench.tui.screens import help
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.dialogs import ChangeDialog, InputDialog
from tuibench.tui.screens.help import HelpScreen, Keymap, help_sections
from tuibench.tui.screens.load_dialogs import DurabilityDialog
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions

SPELT = {"/": "slash", "=": "equals_sign", ":": "colon", ",": "comma", "-": "minus"}


async def test_one_of_both_settings_is_chosen_or_no_rate_a_pause_ended_or_the_run() -> None:
    orders: tuple[tuple[list[str], Command], ...] = (
        (["d", "down", "down", "down", "down", "enter", "y"], ChangeSetting(script.FLUSH, "2")),
        (["d", "end", "enter", "y"], ChangeSetting(script.SYNC, "0")),
        (["r", "0", "enter"], SetRate(0)),
        (["p"], Resume()),
        (["ctrl+c"], Stop()),
    )
    async with viewer(script.hello(60, script.status(RunState.PAUSED))) as it:
        for keys, expected in orders:
            it.client.submitted.clear()
            await it.press(*keys)
            assert it.client.submitted == [expected]


async def test_the_answer_is_shown_and_not_the_wish_and_a_refusal_in_words() -> None:
    async with viewer(script.hello(60)) as it:
        it.client.answer = CommandReply(id=1, ok=True, text="running 40 of 65 threads")
        await it.press("plus")
        assert it.shown("note") == "✓ running 40 of 65 threads"
        assert "64 threads" in it.shown("head")
        it.client.answer = CommandReply(id=1, ok=False, text="1227: access denied; you need SUPER")
        await it.press("d", "down", "down", "enter", "y")
        assert it.shown("note") == "✗ 1227: access denied; you need SUPER"
        assert "DURABLE" in it.shown("durability")


async def test_a_doubtful_effect_is_decided_by_the_test_of_its_two_values() -> None:
    doubtful = msgspec.structs.replace(
        script.EFFECT,
        change="sync_binlog 1 → 100",
        comparisons=tuple(
            msgspec.structs.replace(each, verdict=Verdict.CANNOT_TELL) for each in script.EFFECT.comparisons
        ),
    )
    told = msgspec.structs.replace(script.EVENTS[-1], effect=doubtful)
    async with viewer(script.hello(82)) as it:
        await it.hear(told)
        await it.press("enter")
        (order,) = it.client.submitted
        assert isinstance(order, StartAbTest)
        assert (order.subject, order.a, order.b) == ("sync_binlog", "1", "100")
        await it.hear(msgspec.structs.replace(told, effect=script.EFFECT))
        await it.press("enter")
        assert it.client.submitted == [order]
        assert "no effect is in doubt" in it.shown("note")


async def test_a_held_key_makes_one_following_change() -> None:
    async with viewer(script.hello(60)) as it:
        it.client.hold()
        await it.press(*["plus"] * 8)
        assert it.client.submitted == [SetThreads(65)]
        it.client.release()
        await it.settle()
        assert it.client.submitted == [SetThreads(65), SetThreads(72)]


async def test_a_held_space_bar_makes_one_mark() -> None:
    async with viewer(script.hello(60)) as it:
        it.client.hold()
        await it.press(*["space"] * 8)
        assert it.client.submitted == [Mark()]


async def test_nothing_is_submitted_before_the_run_can_be_steered() -> None:
    async with viewer(script.hello(0, script.status(RunState.STARTING))) as it:
        await it.press("plus", "d", "p", "space", "t", "r")
        assert it.client.submitted == []
        assert isinstance(it.app.screen, LiveScreen)


async def test_what_cannot_be_is_explained_and_not_submitted() -> None:
    status = script.status(weights={"old": 90, "new": 10})
    mistakes = (
        ("t", "", "type a number"),
        ("t", "0", "a run has at least 1 thread"),
        ("t", "999999", "at most 100,000 threads"),
        ("t", "8x", "'8x' is not a whole number"),
        ("r", "", "No rate now"),
        ("r", "99,999,999", "at most 10,000,000 per second"),
        ("r", "-3", "'-3' is not a number"),
        ("r", "inf", "not a number"),
        ("n", "20", "'20' is not a duration"),
        ("n", "11s", "at most 10000ms"),
        ("w", "50", "2 weights are required, for old, new"),
        ("w", "newer=5", "there is no transaction 'newer'"),
        ("w", "0/0", "at least one transaction needs a weight above 0"),
        ("w", "a/b", "'a' is not a weight"),
        ("T", "8:3", "character 3, '8:3': '3' is not a duration"),
    )
    async with viewer(script.hello(60, status)) as it:
        for key, typed, reason in mistakes:
            await it.press(key, *(SPELT.get(letter, letter) for letter in typed), "enter")
            assert isinstance(it.app.screen, InputDialog), typed
            assert reason in screen_text(it), typed
            await it.press("escape")
        assert it.client.submitted == []


async def test_a_reason_longer_than_the_dialog_is_shown_whole() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("n", "1", "enter")
        said = it.app.screen.query_one("#ask-error", Static)
        assert len(str(said.content)) > said.size.width
        assert said.size.height * said.size.width >= len(str(said.content))


async def test_a_plan_that_is_held_goes_on() -> None:
    held = msgspec.structs.replace(script.PLAN, phase=PlanPhase.HELD, due_seconds=None)
    async with viewer(script.hello(60, script.status(plan=held))) as it:
        await it.press("H")
        assert it.client.submitted == [ResumePlan()]


async def test_without_a_plan_there_is_none_to_hold() -> None:
    over = msgspec.structs.replace(script.PLAN, phase=PlanPhase.OVER)
    for plan in (None, over):
        async with viewer(script.hello(60, script.status(plan=plan))) as it:
            await it.press("H")
            assert it.client.submitted == []


async def test_the_dialog_tells_the_rate_there_is() -> None:
    status = msgspec.structs.replace(script.status(), rate=1250.0)
    async with viewer(script.hello(60, status)) as it:
        assert "rate 1,250/s" in it.shown("head")
        await it.press("r")
        assert "1,250 per second now" in screen_text(it)


async def test_only_yes_changes_the_server() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("d", "down", "down")
        for no in ("n", "escape"):
            await it.press("enter", "enter", no)
            assert isinstance(it.app.screen, DurabilityDialog)
        await it.press("escape")
        assert it.client.submitted == []


async def test_what_cannot_be_changed_cannot_be_chosen() -> None:
    status = script.status(unavailable="1227: no SUPER privilege")
    async with viewer(script.hello(60, status)) as it:
        await it.press("d")
        assert screen_text(it).count("These settings cannot be changed: 1227: no SUPER privilege") == 1
        assert "log flushed once a second" in screen_text(it)
        await it.press("down", "enter", "y")
        assert it.client.submitted == []


async def test_the_help_lists_keys_and_warnings() -> None:
    status = script.status(warnings=("client-limited: a worker is full",))
    async with viewer(script.hello(60, status)) as it:
        await it.press("question_mark")
        assert isinstance(it.app.screen, HelpScreen)
        assert "client-limited: a worker is full" in screen_text(it)
        assert "Half the threads, or twice" in screen_text(it)
        assert it.app.screen.query_one("#help-dialog").max_scroll_y == 0
        await it.press("escape", "f1")
        assert isinstance(it.app.screen, HelpScreen)


async def test_a_key_that_does_nothing_here_says_why_and_what_may_have_been_meant() -> None:
    async with viewer(script.hello(60)) as it:
        for key, told in (
            ("comma", ", does nothing here; ? lists all keys"),
            ("i", "i does nothing here; ? lists all keys"),
            ("L", "L does nothing here: l is locks"),
            ("Q", "Q does nothing here: q is stop"),
            ("up", "↑ does nothing here"),
            ("w", "one kind of transaction"),
            ("H", "T enters one"),
        ):
            await it.press(key)
            assert told in it.shown("note")
            assert it.shown("note").startswith("→ "), key
            assert it.app.screen is it.app.screen_stack[1]
        titles = [command.title for command in it.app.get_system_commands(it.app.screen)]
        assert not any("weights" in title for title in titles)
        assert it.client.submitted == []


async def test_keys_of_a_dialog_do_not_steer_the_run_and_a_click_on_a_key_does_what_the_key_does() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("question_mark", "plus", "space", "p")
        assert it.client.submitted == []
        await it.press("escape")
        await it.pilot.click("#footer", offset=(it.shown("footer").index("p pause"), 0))
        await it.settle()
        assert it.client.submitted == [Pause()]


async def test_a_dialog_offers_what_can_be_started_as_it_is() -> None:
    orders: tuple[tuple[tuple[str, ...], Command], ...] = (
        (("P", "down"), StartProbe(ProbeOrder(slo=("p95<60ms",)))),
        (("A", "up"), StartAbTest(subject="preset", a="durable", b="unsafe")),
        (("A", "down"), StartAbTest(subject="threads", a="64", b="128")),
        (("U", "down"), StartTune(parse_tune_words(["durability", "allow-risk"]))),
    )
    async with viewer(CATALOGUE) as it:
        for keys, expected in orders:
            it.client.submitted.clear()
            await it.press(*keys, "enter")
            assert it.client.submitted == [expected]


async def test_the_charts_have_the_figures_of_a_preset_or_any_and_those_of_the_next_run_too() -> None:
    kept: list[str] = []
    display = DEFAULT_DISPLAY._replace(keep_charts=kept.append)
    async with viewer(script.hello(60), display=display) as it:
        assert it.shown("figure-qps").startswith("QPS f changes it")
        await it.press("f", "down", "enter")
        assert it.shown("figure-qps").startswith("fsyncs/trx")
        assert it.shown("figure-latency").startswith("p95 latency")
        await it.press("f", *(SPELT.get(each, each) for each in "p99,tps"), "enter")
        assert it.shown("figure-tps").startswith("p99")
        assert it.shown("figure-qps").startswith("TPS")
        await it.press("f", *"tsp", "enter")
        assert "there is no figure 'tsp' (did you mean 'tps'?)" in screen_text(it)
    assert kept == ["tps,fsyncs,p95", "p99,tps"]
    async with viewer(script.hello(60), display=DEFAULT_DISPLAY._replace(charts=("threads_running",))) as it:
        assert it.shown("figure-tps").startswith("Threads running")


# Keys of the user's own: they do what they say, and the old ones nothing.


async def test_the_users_keys_do_what_they_say_and_the_old_ones_nothing() -> None:
    display = DisplayOptions(keymap=help.parse_keymap({"pause": "i", "more": "f5"}, "c.toml"))
    async with viewer(script.hello(60), display=display) as it:
        await it.press("p", "plus", "equals_sign")
        assert it.client.submitted == []
        await it.press("i", "f5")
        assert it.client.submitted == [Pause(), SetThreads(65)]
        assert "i pause" in it.shown("footer")
        assert it.app.view is not None
        assert ("i", "Pause the load, or resume it") in [
            line for _, lines in help_sections(it.app.view) for line in lines
        ]
        commands = {command.title: command.help for command in it.app.get_system_commands(it.app.screen)}
        assert commands["Pause the load, or resume it"] == "i"


# A viewer that may only look: keys that steer are dim and refused in words, the rest works.


STEERING = [action for action in ACTIONS if action.steers and not action.place]


async def test_what_steers_is_refused_in_words_and_looking_goes_on() -> None:
    async with viewer(hello(), read_only=True) as screen:
        for key in ("plus", "minus", "t", "r", "d", "p", "space", "T"):
            screen.app._show_note("")
            await screen.press(key)
            assert READ_ONLY_REFUSAL in screen.shown("note"), key
            assert isinstance(screen.app.screen, MainScreen), key
        view = screen.app.view
        assert view is not None
        assert len(STEERING) > 8
        assert not [action.name for action in STEERING if is_possible(action, view)]
        offered = {command.title for command in screen.app.get_system_commands(screen.app.screen)}
        assert offered
        assert offered.isdisjoint(action.help for action in STEERING)
        assert "q quit" in screen.shown("footer")
        assert "stop" not in screen.shown("footer")
        screen.app._send(SetThreads(99))
        await screen.settle()
        assert screen.client.submitted == []
        await screen.hear(sample(1))
        await screen.press("l")
        assert screen.client.submitted
        assert all(isinstance(command, Watch) for command in screen.client.submitted)


@pytest.mark.parametrize("key", ["q", "x", "ctrl+c"])
async def test_leaving_stops_nothing(key: str) -> None:
    async with viewer(hello(), read_only=True) as screen:
        await screen.press(key)
        assert not screen.app.is_running
        assert screen.client.submitted == []


# The hints on dialogs: their words fit what the keys do, with the user's own keys, too.


TWO_KINDS = script.hello(60, script.status(weights={"old": 90, "new": 10}))
OWN = {"plan": "k", "probe": "o", "pause": "y", "saturation": "f9"}
OWN_KEYS = DisplayOptions(keymap=Keymap(bound=OWN, shown=OWN))


async def test_a_dialog_says_what_enter_does_and_its_field_that_a_hint_is_no_value() -> None:
    async with viewer(TWO_KINDS) as it:
        for key, verb, hint in (
            ("t", "sets", "now 64"),
            ("r", "sets", "for example 500"),
            ("w", "sets", ""),
            ("n", "sets", "for example 5ms"),
            ("T", "starts", "for example 8:30s,16:30s,64:1m"),
            ("P", "starts", "for example p95<20ms"),
        ):
            await it.press(key)
            assert f" enter {verb} · esc goes back " in screen_text(it), key
            assert it.app.screen.query_one(Input).placeholder == hint or not hint
            await it.press("escape")


@pytest.mark.parametrize(
    ("screen", "keys", "yes"),
    [
        ("settings", ("backspace",), "restore"),
        ("sessions", ("k",), "end its query"),
        ("confirm", (), "apply"),
    ],
)
async def test_a_question_says_what_its_yes_does(screen: str, keys: tuple[str, ...], yes: str) -> None:
    scene = SCREENS[screen]
    assert isinstance(scene, Scene)
    async with viewer(scene.hello) as it:
        await it.press(*scene.keys)
        await it.hear(*scene.says)
        await it.press(*keys)
        assert f" y  {yes} " in screen_text(it)


async def test_a_dialog_names_the_users_own_keys() -> None:
    async with viewer(script.hello(60), display=OWN_KEYS) as it:
        for keys, told in (
            (("T",), "k resumes it"),
            (("o",), "Screen f9 shows the probe and its answer; o ends it."),
            (("t", "0", "enter"), "at least 1 thread; y pauses it"),
        ):
            await it.press(*keys)
            assert told in " ".join(str(part.content) for part in it.app.screen.query(Static))
            await it.press("escape")


async def test_where_nothing_can_be_chosen_no_key_says_that_it_chooses() -> None:
    async with viewer(script.hello(60, script.status(unavailable="1227: no SUPER privilege"))) as it:
        await it.press("d")
        assert "▲ at risk · esc goes back" in screen_text(it)


async def test_arrows_are_named_where_there_are_values_to_choose() -> None:
    async with viewer(CATALOGUE) as it:
        for is_offered in (True, False):
            setting = next(each for each in catalogue.STATES if bool(each.choices) is is_offered)
            it.app.push_screen(ChangeDialog(setting))
            await it.settle()
            assert ("↑ ↓ choose" in screen_text(it)) is is_offered
            await it.press("enter")
            assert ("choose one with ↑ ↓" in screen_text(it)) is is_offered
            await it.press("escape")


async def test_the_durability_dialog_opens_on_the_present_value() -> None:
    async with viewer(script.hello()) as it:
        await it.press("d")
        offers = it.app.screen.query_one(OptionList)
        assert offers.highlighted_option is not None
        assert "● ▲ unsafe" in str(offers.highlighted_option.prompt)


async def test_the_risks_of_the_durability_dialog_are_not_cut_on_a_small_screen() -> None:
    async with viewer(script.hello(60), size=SMALL) as it:
        await it.press("d")
        shown = screen_text(it)
        assert "…" not in "".join(line for line in shown.splitlines() if "▲" in line)
        assert "about 1 s of commits lost if the host crashes" in shown
        assert "sync_binlog, now 1" in shown
