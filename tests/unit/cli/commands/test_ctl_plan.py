"""A planned load by `ctl`: which words stand for it, and how it is told."""

import msgspec
import pytest

from tests.examples import hello, status
from tests.tui.support.script import PLAN
from tuibench.cli.commands.ctl import verbs
from tuibench.cli.commands.ctl.status import session_status, status_text
from tuibench.errors import UsageError
from tuibench.model.command import Command, HoldPlan, ResumePlan, SetDelay, SetPlan
from tuibench.model.schedule import PlanPhase, parse_schedule


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["plan", "8:30s,16:1m"], SetPlan(parse_schedule("8:30s,16:1m"))),
        (["plan", "1..64/1m", "doubling"], SetPlan(parse_schedule("1..64/1m doubling"))),
        (["plan", "rate", "5:1m"], SetPlan(parse_schedule("rate 5:1m"))),
        (["s1", "plan", "hold"], HoldPlan()),
        (["plan", "resume"], ResumePlan()),
        (["delay", "500us"], SetDelay(0.5)),
    ],
)
def test_words_stand_for_a_command(words: list[str], command: Command) -> None:
    _, name, rest = verbs.split_words(words)
    assert verbs.VERBS_BY_NAME[name].command(rest) == command


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "ctl plan: it takes stages, such as 8:30s"),
        (["stop"], "character 1, 'stop': a stage is LEVEL:TIME"),
        (["8:30s,x"], "character 7, 'x'"),
    ],
)
def test_what_is_no_plan_is_refused(words: list[str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        verbs.VERBS_BY_NAME["plan"].command(words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "plan: 16:24s,32:9s,64:2m, stage 2 of 3, running, 64 threads in 00:41"),
        ({"phase": PlanPhase.HELD, "following": ""}, "stage 2 of 3, held, ends in 00:41"),
        ({"phase": PlanPhase.OVER}, "plan: 16:24s,32:9s,64:2m, over"),
    ],
)
def test_the_status_shows_the_position_in_the_plan(changes: dict[str, object], words: str) -> None:
    told = hello(status=status(plan=msgspec.structs.replace(PLAN, **changes), client_delay_ms=20))
    assert words in status_text(told)
    assert "simulated network delay: 20ms" in status_text(told)
    assert msgspec.json.decode(msgspec.json.encode(session_status(told)))["plan"]["stage"] == 2
