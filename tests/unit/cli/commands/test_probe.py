"""`tuibench probe` and `ctl probe`: what their words mean, and what a script is told."""

import json

import pytest
from msgspec.structs import replace

from tests.examples import summary
from tests.unit.cli.plans import planned
from tests.unit.cli.program import Program
from tests.unit.session.probe.test_result import answered, probed
from tuibench.cli.commands.ctl import verbs
from tuibench.cli.commands.probe import probe_exit_code, probe_output
from tuibench.errors import ExitCode, RunError, UsageError
from tuibench.model.command import NextStep, StartProbe, StopProbe
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder
from tuibench.model.schedule import Quantity


def test_the_usual_probe_ends_within_ninety_seconds() -> None:
    plan = planned(command="probe")
    assert plan.probe == ProbeOrder(least=1.0, seconds=82.0)
    assert plan.seconds is None
    assert (plan.threads, plan.interval_seconds, plan.warmup_seconds) == (1, 0.5, 3.0)


def test_a_probe_by_rate_has_its_threads() -> None:
    plan = planned(
        "--by=rate", "--threads=32", "--min-rate=50", "--max-rate=800", "--slo=p99<30ms", command="probe"
    )
    assert plan.threads == 32
    assert plan.probe is not None
    assert plan.probe.by is Quantity.RATE
    assert (plan.probe.least, plan.probe.most, plan.probe.slo) == (50, 800, ("p99<30ms",))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by=tables"], "--by is one of threads, rate"),
        (["--slo=p95"], "'p95' is not a threshold"),
        (["--slo=abandoned<1"], "cannot be judged by abandoned"),
        (["--min-threads=8", "--max-threads=4"], "--max-threads is below --min-threads"),
        (["--max-step-time=0"], "--max-step-time must be between 2 and 600"),
        (["--max-time=5"], "--max-time must be between 13 and 86,403, not 5"),
        (["--max-time=9", "--warmup-time=0"], "--max-time must be between 10 and 86,400, not 9"),
        (["--warmup-time=-1"], "--warmup-time must be between 0 and"),
    ],
)
def test_what_cannot_be_probed_is_refused(options: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        planned(*options, command="probe")


def test_a_mistake_is_wrong_usage(tuibench: Program) -> None:
    code, out, err = tuibench("probe", "oltp_read_write", "--slo", "quick")
    assert (code, out) == (ExitCode.USAGE_ERROR, "")
    assert err.startswith("tuibench: 'quick' is not a threshold")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ((), StartProbe()),
        (("p95<20ms",), StartProbe(ProbeOrder(slo=("p95<20ms",)))),
        (("rate", "p95<20ms"), StartProbe(ProbeOrder(by=Quantity.RATE, slo=("p95<20ms",)))),
        (("next",), NextStep()),
        (("stop",), StopProbe()),
    ],
)
def test_ctl_probe(words: tuple[str, ...], command: object) -> None:
    assert verbs.VERBS_BY_NAME["probe"].command(words) == command


def test_the_answer_is_words_or_json() -> None:
    found = answered(probed())
    done = summary(probe=found)
    assert probe_output(done, "text").splitlines()[-1].startswith("Confidence: high")
    told = json.loads(probe_output(done, "json"))
    assert told["knee"]["level"] == found.knee.level if found.knee else False
    assert [step["level"] for step in told["steps"]] == [step.level for step in found.steps]
    with pytest.raises(RunError, match="before its first step"):
        probe_output(summary(), "text")


def test_a_probe_that_ended_early_has_failed() -> None:
    found = answered(probed())
    assert probe_exit_code(ExitCode.DONE, summary(probe=found)) is ExitCode.DONE
    early = summary(probe=replace(found, end=ProbeEnd.ABORTED))
    assert probe_exit_code(ExitCode.DONE, early) is ExitCode.RUN_FAILED
    assert probe_exit_code(ExitCode.INTERRUPTED, early) is ExitCode.INTERRUPTED
