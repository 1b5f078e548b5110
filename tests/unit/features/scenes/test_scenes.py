"""Scenes: what a file may say, mistakes told with their place, what the player makes of measurements."""

from pathlib import Path

import msgspec
import pytest

from tests.tables import for_each
from tests.tui.support import script
from tests.unit.features.crash.crash_examples import crash
from tuibench.base.errors import UsageError
from tuibench.features.crash.text import crash_sentence
from tuibench.features.scenes.demo import SceneOptions
from tuibench.features.scenes.scene import (
    NO_CALLERS,
    REVEALED,
    Scene,
    ScenePlayer,
    SceneStep,
    available_scenes,
    decode_scene,
    is_settled,
    load_scene,
    verdict_on,
)
from tuibench.model.callers import CallerPolicy
from tuibench.model.effect import Comparison, LevelMovement, MovementKind, Verdict
from tuibench.model.event import CRASH_FAILED, CRASHED, Event, EventKind
from tuibench.model.findings import CommitFates
from tuibench.model.message import (
    ApplyPreset,
    CrashServer,
    RestoreSettings,
    SetCallers,
    SetHardware,
    SetRate,
    SetThreads,
    SetWeights,
    StartBurst,
    StartProbe,
)
from tuibench.model.plan import changed_policy
from tuibench.model.probe import ProbeState
from tuibench.tui.panels.bars import caption_height, caption_lines
from tuibench.tui.script import PinEffects, ScriptAction, ShowScreen
from tuibench.tui.text import plain_text
from tuibench.tui.view import View, initial_view, next_view
from tuibench.workload import library

HEAD = 'title = "A scene"\n'
BUILT_IN = (
    "cache",
    "crash",
    "ddl",
    "durability",
    "hot-rows",
    "lost-updates",
    "network",
    "overload",
    "probe",
    "threads",
)


def steps(*texts: str) -> str:
    return HEAD + "".join(f"[[steps]]\n{text}\n" for text in texts)


def test_the_built_in_scenes_are_the_documented_ones() -> None:
    assert tuple(sorted(available_scenes())) == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_scene_can_be_played(name: str) -> None:
    scene = SceneOptions(scene=name).load(is_possible=True)
    assert scene is not None
    assert any(step.action == "ask" for step in scene.steps)
    assert any(step.action == "reveal" for step in scene.steps)
    compared = [
        step for step in scene.steps if step.action == "reveal" and step.reveal in (*REVEALED, "probe")
    ]
    assert all(step.otherwise for step in compared)
    is_open = False
    for step in scene.steps:
        is_open = is_open and step.wait != "effect"
        assert not (is_open and step.set and step.set.crash), (
            "the kill would end the measurement of the effect"
        )
        is_open = is_open or bool(step.set and (step.set.setting or step.set.preset))
    sizes = {"tables": 4, "table_size": 1000} if scene.profile != "anomalies" else {}
    sizes["threads"] = scene.threads
    program = library.load_program(scene.profile, {**sizes, **scene.options}, scene.profile_text)
    mixed = {name for step in scene.steps if step.set for name in step.set.weights}
    assert mixed <= {transaction.name for transaction in program.transactions}


@for_each(
    ("text", "expected"),
    [
        (HEAD, "missing required field `steps`"),
        (HEAD + "steps = []", "a scene needs at least one [[steps]]"),
        ("title =", "not valid TOML"),
        (steps('sya = "hello"'), "step 1: unknown key 'sya' (did you mean 'say'?)"),
        (
            steps('say = "a"', "set = { thraeds = 4 }"),
            "step 2: set: unknown key 'thraeds' (did you mean 'threads'?)",
        ),
        (steps('say = "a"\nshow = "live"'), "step 1: a step has one action: it has say and show"),
        (steps("seconds = 3"), "step 1: a step has one action: one of say, ask, set"),
        (steps('say = "a"\nexpect = "higher"'), "step 1: 'expect' is not valid with 'say'"),
        (steps("set = {}"), "step 1: set: nothing is set"),
        (steps('set = { delay = "5" }'), "step 1: set.delay: '5' is not a duration"),
        (steps('set = { hardware = "sync=2ms" }'), "step 1: set.hardware: the hardware has no 'sync'"),
        (steps("set = { threads = 0 }"), "step 1: set.threads: at least 1, not 0"),
        (steps("set = { rate = -1 }"), "step 1: set.rate: 0 or more, not -1"),
        (steps("wait = -1"), "step 1: wait: between 0 and 3600 seconds, not -1"),
        (steps('wait = "setled"'), "step 1: wait"),
        (steps('wait = "effect"'), "step 1: no earlier step changes anything"),
        (steps('reveal = "tps"'), "step 1: no earlier step changes anything"),
        (steps('reveal = "probe"'), "step 1: no earlier step starts a probe"),
        (steps('wait = "crash"'), "step 1: no earlier step crashes the server"),
        (steps('wait = "recovery"'), "step 1: no earlier step starts a burst"),
        (steps('reveal = "burst"'), "step 1: no earlier step starts a burst"),
        (steps('set = { burst = "3" }'), "step 1: set.burst: "),
        (steps('set = { callers = { qeue = "shed" } }'), "step 1: set.callers.qeue: "),
        (steps("set = { callers = { attempts = 0 } }"), "step 1: set.callers.attempts: "),
        (
            steps('set = { burst = "x3 5s" }', 'reveal = "burst"\nexpect = "lower"'),
            "step 2: expect: recovered or stays, not 'lower'",
        ),
        (
            steps("set = { threads = 4 }", 'reveal = "tps"\nexpect = "stays"'),
            "step 2: expect: higher, lower or equal, not 'stays'",
        ),
        (steps('probe = { slo = ["fast"] }'), "step 1: probe.slo: "),
    ],
)
def test_an_error_is_reported_with_its_location(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        decode_scene(text, "talk.toml")
    assert f"talk.toml: {expected}" in str(raised.value)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ('set = { preset = "unsave" }', "unsafe"),
        ("set = { setting = { sync_binlgo = 0 } }", "sync_binlog"),
        ('show = "lve"', "step 1: there is no screen 'lve'"),
    ],
)
def test_what_the_catalogue_does_not_have_is_refused(step: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.toml"
    path.write_text(steps(step))
    with pytest.raises(UsageError) as raised:
        SceneOptions(scene=str(path)).load(is_possible=True)
    assert expected in str(raised.value)
    assert f"{path}: step 1: " in str(raised.value)


def test_an_unknown_scene_names_the_others_and_options_need_one() -> None:
    with pytest.raises(UsageError, match="durability"):
        load_scene("durabilty")
    with pytest.raises(UsageError, match="--loop requires a scene"):
        SceneOptions(loop=True).load(is_possible=True)


class Stage:
    """A player with a view and a clock that the test moves."""

    def __init__(self, *texts: str, by_space: bool = False, loop: bool = False) -> None:
        self.player = ScenePlayer(decode_scene(steps(*texts), "talk.toml"), by_space=by_space, loop=loop)
        self.view: View = initial_view(script.hello(60))
        self.now = 0.0

    def after(self, seconds: float) -> list[ScriptAction]:
        self.now += seconds
        return self.player.advance(self.view, self.now)

    def tell(self, event: Event) -> None:
        self.view = next_view(self.view, event)

    @property
    def text(self) -> str:
        return self.player.caption.text


def effect_event(verdict: Verdict = Verdict.HIGHER, marker: int = 9) -> Event:
    comparisons = tuple(
        msgspec.structs.replace(one, verdict=verdict) if one.figure == "tps" else one
        for one in script.EFFECT.comparisons
    )
    effect = msgspec.structs.replace(script.EFFECT, markers=(marker,), comparisons=comparisons)
    return Event(
        at=0.0, elapsed_seconds=75.0, kind=EventKind.EFFECT, text="TPS …", marker=marker, effect=effect
    )


def test_texts_stay_as_long_as_they_take_to_read_and_space_goes_on() -> None:
    stage = Stage('say = "one"', 'ask = "two?"\nchoices = ["yes", "no"]', 'say = "three"\nseconds = 2')
    assert stage.after(0) == []
    assert (stage.text, stage.player.caption.place) == ("one", "1/3")
    stage.after(3.9)
    assert stage.text == "one"
    stage.after(0.2)
    assert stage.text == "two?   yes?   no?"
    assert stage.player.caption.kind == "ask"
    stage.player.go_on()
    stage.after(0.1)
    assert stage.text == "three"
    stage.after(2.1)
    assert stage.player.is_over
    assert "The scene has ended" in stage.text


def test_by_space_nothing_goes_on_by_itself() -> None:
    stage = Stage('say = "one"', 'say = "two"', by_space=True)
    stage.after(0)
    stage.after(1000)
    assert stage.text == "one"
    stage.player.go_on()
    stage.after(0)
    assert stage.text == "two"


def test_a_change_is_submitted_waited_for_and_revealed() -> None:
    stage = Stage(
        'set = { preset = "unsafe" }',
        'wait = "effect"',
        'reveal = "tps"\nexpect = "higher"\nthen = "As promised."\notherwise = "Hm."',
    )
    assert stage.after(0) == [ApplyPreset("unsafe")]
    assert stage.after(10) == []
    assert stage.player.caption.waiting == "measuring the effect"
    stage.tell(effect_event())
    stage.after(1)
    assert stage.text.startswith("TPS 1,560 → 2,412, +55 % (49..61 %). As promised.")
    assert stage.player.caption.kind == "reveal"


def test_the_effect_of_an_earlier_change_is_not_taken_for_it() -> None:
    stage = Stage("set = { threads = 4 }", 'wait = "effect"', 'reveal = "tps"')
    assert stage.after(0) == [SetThreads(4)]
    stage.tell(effect_event(marker=2))
    stage.after(1)
    assert stage.player.caption.waiting == "measuring the effect"


def test_a_scene_without_an_effect_says_so() -> None:
    stage = Stage(
        'set = { preset = "unsafe" }', 'wait = "effect"', 'reveal = "tps"\notherwise = "A fast disk."'
    )
    stage.after(0)
    stage.tell(effect_event(Verdict.EQUAL))
    stage.after(1)
    assert stage.text.startswith("On this machine there is no difference: TPS 1,560 → 2,412")
    assert stage.text.endswith("A fast disk.")
    assert stage.player.caption.kind == "nothing"


def test_noise_is_not_taken_for_the_absence_of_an_effect() -> None:
    step = SceneStep(reveal="tps", expect="higher", otherwise="A fast disk.")
    one = msgspec.structs.replace(script.EFFECT.comparisons[0], verdict=Verdict.CANNOT_TELL)
    text, kind = verdict_on(step, one)
    assert text.startswith("TPS 1,560 → 2,412, too noisy to tell (49..61 %). The figures vary")
    assert "A fast disk." not in text
    assert kind == "unknown"


def test_a_level_that_also_moved_otherwise_is_not_attributed() -> None:
    moved = LevelMovement(kind=MovementKind.HOST, percent=30.0)
    one = msgspec.structs.replace(script.EFFECT.comparisons[0], verdict=Verdict.NOT_ONLY, movement=moved)
    text, kind = verdict_on(SceneStep(reveal="tps", expect="higher"), one)
    assert text == "TPS 1,560 → 2,412, +55 % (49..61 %), and other programs took 30 % more CPU."
    assert kind == "unknown"


def test_a_difference_that_its_levels_do_not_show_is_explained() -> None:
    """The levels are means of the windows; the difference is that from the trend before the change."""
    one = msgspec.structs.replace(
        script.EFFECT.comparisons[0], before=200.0, after=400.0, percent=150.0, verdict=Verdict.HIGHER
    )
    explained = ", corrected for the trend before the change. Then."
    step = SceneStep(reveal="tps", expect="higher", then="Then.")
    assert verdict_on(step, one)[0].endswith(explained)
    plain = msgspec.structs.replace(one, percent=101.0)
    assert not verdict_on(step, plain)[0].endswith(explained)


def test_an_opposite_effect_is_reported_as_opposite() -> None:
    step = SceneStep(reveal="tps", expect="lower", then="yes", otherwise="no")
    one = script.EFFECT.comparison("tps")
    assert isinstance(one, Comparison)
    text, kind = verdict_on(step, one)
    assert text.startswith("Here the effect is the opposite: TPS")
    assert text.endswith("no")
    assert kind == "nothing"


def test_a_disturbed_or_missing_measurement_is_reported_with_its_reason() -> None:
    stage = Stage(
        "set = { threads = 4 }",
        'wait = "effect"\nat-most = 30',
        'reveal = "p95"\notherwise = "A fast disk."',
        'reveal = "tps"',
    )
    stage.after(0)
    stage.after(31)
    assert stage.text == "Not measured: the load did not settle in time."
    told = Stage("set = { threads = 4 }", 'wait = "effect"', 'reveal = "p95"')
    told.after(0)
    why = "the host was busy while it was measured"
    told.tell(
        Event(at=0.0, elapsed_seconds=70.0, kind=EventKind.EFFECT, text="effect of …", not_measured=why)
    )
    told.after(1)
    assert told.text == f"Not measured: {why}."


def test_screens_weights_probe_and_the_comparison_of_the_last_two_effects() -> None:
    stage = Stage(
        'show = "host"',
        "big = true",
        "set = { weights = { a = 1, b = 0 } }",
        'wait = "effect"',
        "set = { threads = 8 }",
        'wait = "effect"',
        "compare = true",
        "probe = { seconds = 30 }",
        'wait = "probe"',
    )
    assert stage.after(0) == [ShowScreen("host"), ShowScreen("big"), SetWeights({"a": 1.0, "b": 0.0})]
    stage.tell(effect_event(marker=9))
    stage.tell(Event(at=0.0, elapsed_seconds=76.0, kind=EventKind.MARK, text="m", marker=9))
    assert stage.after(1) == [SetThreads(8)]
    stage.tell(effect_event(marker=10))
    actions = stage.after(1)
    assert actions[0] == PinEffects((9, 10))
    assert isinstance(actions[1], StartProbe)
    assert actions[1].order.seconds == 30


def test_a_crash_is_waited_for_and_revealed_whether_it_ended_or_failed() -> None:
    back, kill = " · back after 2 s", f" ({CRASHED}; flush_log=0)"
    for lost, more, rest in (
        ("lost: 147 acknowledged commits (0.9 s)", back, kill),
        (f"{CRASH_FAILED}no disk (28)", "", ""),
    ):
        text = lost + more + rest
        stage = Stage("set = { crash = true }", 'wait = "crash"', 'reveal = "crash"\nthen = "So."')
        assert stage.after(0) == [CrashServer()]
        stage.tell(Event(at=0.0, elapsed_seconds=61.0, kind=EventKind.INTERVENTION, text="kill -9 of it"))
        assert stage.after(5) == []
        assert stage.text == ""
        stage.tell(Event(at=0.0, elapsed_seconds=64.0, kind=EventKind.WARNING, text=text))
        stage.after(1)
        assert stage.text == f"{lost}. So.{more}"


def test_what_a_crash_has_shown_fits_on_the_smallest_screen() -> None:
    fates = CommitFates(
        acknowledged=99_000, lost=12_345, lost_seconds=0.94, unknown=24, unknown_committed=13, unexplained=0
    )
    found = crash("innodb_flush_log_at_trx_commit=0", 1, 1200.0, fates, recovered_seconds=12.5)
    scene = SceneOptions(scene="crash").load(is_possible=True)
    assert scene is not None
    for then in (step.then for step in scene.steps if step.reveal == "crash"):
        stage = Stage("set = { crash = true }", 'wait = "crash"', f'reveal = "crash"\nthen = "{then}"')
        stage.after(0)
        stage.tell(Event(at=0.0, elapsed_seconds=64.0, kind=EventKind.WARNING, text=crash_sentence(found)))
        stage.after(1)
        view = msgspec.structs.replace(stage.view, caption=stage.player.caption)
        shown = " ".join(
            plain_text(line).strip() for line in caption_lines(view, 78, caption_height(view, 78))
        )
        assert shown.endswith("90 % of TPS 12.5 s"), shown


BACK = "recovered 4 s after the burst: goodput 157/s before, 0/s at the lowest"
STUCK = (
    "it does not recover: goodput 0 % of before, 60 s after the burst, at 150/s: 157/s before, 0/s at the "
    "lowest; queue 9,900, growing by 41/s"
)


def burst_event(text: str, at: float = 66.0) -> Event:
    return Event(at=0.0, elapsed_seconds=at, kind=EventKind.EFFECT, text=text, experiment="burst")


@for_each(
    ("text", "expect", "shown", "kind"),
    [
        (STUCK, "stays", "It does not recover: goodput 0 % of before, 60 s after the burst, at 150/s; "
         "queue 9,900, growing by 41/s. So.", "reveal"),
        (BACK, "stays", "Recovered 4 s after the burst. But.", "nothing"),
        (BACK, "recovered", "Recovered 4 s after the burst. So.", "reveal"),
        (STUCK.replace("it does not recover", "still draining"), "recovered",
         "Still draining: goodput 0 % of before, 60 s after the burst, at 150/s; queue 9,900, growing by "
         "41/s. But.", "nothing"),
    ],
)  # fmt: skip
def test_the_verdict_on_a_burst_is_what_was_measured(text: str, expect: str, shown: str, kind: str) -> None:
    reveal = f'reveal = "burst"\nexpect = "{expect}"\nthen = "So."\notherwise = "But."'
    stage = Stage(
        'set = { rate = 150, callers = { deadline = "200ms", attempts = 3 } }',
        'set = { burst = "x4 3s" }',
        'wait = "burst"',
        reveal,
    )
    assert stage.after(0) == [
        SetCallers("deadline", "200ms"), SetCallers("attempts", "3"), SetRate(150), StartBurst(4, 3),
    ]  # fmt: skip
    stage.tell(burst_event("burst ×4 for 3s: 600/s"))
    stage.after(1)
    assert stage.text == ""
    stage.tell(burst_event(text))
    stage.after(1)
    assert (stage.text, stage.player.caption.kind) == (shown, kind)


def test_a_recovery_is_waited_for_until_it_is_one() -> None:
    stage = Stage(
        'set = { burst = "x4 3s" }',
        'wait = "recovery"\nat-most = 600',
        'reveal = "burst"\nexpect = "recovered"',
    )
    stage.after(0)
    for text in (STUCK, STUCK.replace("it does not recover", "still draining")):
        stage.tell(burst_event(text))
        stage.after(1)
        assert stage.text == ""
    stage.tell(burst_event(BACK))
    stage.after(1)
    assert stage.text == "Recovered 4 s after the burst."


def test_what_a_burst_has_shown_fits_on_the_smallest_screen() -> None:
    scene = SceneOptions(scene="overload").load(is_possible=True)
    assert scene is not None
    for step in (step for step in scene.steps if step.reveal == "burst"):
        stage = Stage(
            'set = { burst = "x4 3s" }', 'wait = "burst"', 'reveal = "burst"\nthen = "' + step.then + '"'
        )
        stage.after(0)
        stage.tell(burst_event(STUCK if step.expect == "stays" else BACK))
        stage.after(1)
        view = msgspec.structs.replace(stage.view, caption=stage.player.caption)
        shown = " ".join(
            plain_text(line).strip() for line in caption_lines(view, 78, caption_height(view, 78))
        )
        assert shown.endswith(step.then), shown


def test_a_repeated_scene_begins_with_callers_that_wait() -> None:
    text = steps('set = { callers = { deadline = "200ms", attempts = 3 } }', 'say = "A."')
    assert decode_scene(text, "talk.toml").has_callers
    policy = changed_policy(changed_policy(CallerPolicy(), "deadline", "200ms"), "attempts", "3")
    for option, value in NO_CALLERS:
        policy = changed_policy(policy, option, value)
    assert policy == CallerPolicy()


def test_a_repeated_scene_begins_with_the_real_disk() -> None:
    stage = Stage('set = { hardware = "fsync=2ms" }', 'say = "one"\nseconds = 1', loop=True)
    assert stage.after(0) == [SetHardware("fsync=2ms")]
    stage.after(1)
    stage.after(2)
    assert SetHardware("0") in stage.after(3)
    assert not decode_scene(steps('say = "one"'), "talk.toml").has_disk


def test_the_screen_of_a_probe_opens_once_there_is_a_probe() -> None:
    """Before the session has begun one, that screen is not offered."""
    stage = Stage("probe = { seconds = 30 }", 'show = "saturation"', 'say = "Look."')
    stage.view = msgspec.structs.replace(stage.view, probe=None)
    (start,) = stage.after(0)
    assert isinstance(start, StartProbe)
    assert stage.after(1) == []
    stage.view = msgspec.structs.replace(stage.view, probe=ProbeState(order=start.order, ceiling=64.0))
    assert stage.after(1) == [ShowScreen("saturation")]
    assert stage.text == "Look."


def test_a_probe_that_does_not_begin_holds_the_scene_for_seconds_only() -> None:
    stage = Stage("probe = { seconds = 30 }", 'say = "Look."')
    stage.view = msgspec.structs.replace(stage.view, probe=None)
    stage.after(0)
    stage.after(6)
    assert stage.text == "Look."


def test_a_loop_puts_everything_back_and_begins_again() -> None:
    stage = Stage('say = "one"\nseconds = 1', loop=True)
    stage.after(0)
    actions = stage.after(2)
    assert RestoreSettings() in actions
    assert actions[-1] == ShowScreen("live")
    assert not stage.player.is_over
    stage.after(0)
    assert stage.text == "one"


def test_a_load_is_settled_when_nothing_moves_any_more() -> None:
    assert is_settled(initial_view(script.hello(60)), 0.0)
    assert not is_settled(initial_view(script.hello(4)), 0.0)


def test_a_scene_waits_for_the_first_sample() -> None:
    stage = Stage('say = "one"')
    stage.view = initial_view(script.hello(0))
    assert stage.after(100) == []
    assert stage.text == ""


def test_names_of_keys_are_those_of_toml() -> None:
    scene = decode_scene(steps("set = { threads = 2 }", 'wait = "effect"\nat-most = 5'), "t")
    assert isinstance(scene, Scene)
    assert scene.steps[1].at_most == 5
