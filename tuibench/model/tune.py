"""Screening of settings (`tune`): plan, measurements and results."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.model.effect import AbTestPair, Comparison, comparison_of
from tuibench.model.option import Option, check_range, parse_duration
from tuibench.model.schedule import format_duration, parse_tolerance

_screening = partial(Option, section="Screening")
"""An option in its section of the help."""
MIN_BUDGET, MAX_BUDGET = 20.0, 7 * 86_400.0


def parse_budget(text: str) -> float:
    """Parse `30m` to seconds. Raises UsageError for an invalid duration, or one out of range."""
    try:
        seconds = parse_duration(text)
    except UsageError:
        raise UsageError(f"--budget takes a duration, not '{text}'", "for example --budget 30m") from None
    return check_range("--budget (in seconds)", seconds, MIN_BUDGET, MAX_BUDGET)


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


OPERATORS_BUDGET = 600.0
"""Default duration, in seconds, of a screening that is started during a run."""


class TunePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a screening of settings.

    `only` are names of settings and topics, empty for all; `values` is the number of values to test for each
    setting; `allow_risk` includes values that can lose data or change results. `objectives` are thresholds
    such as `p95<20ms` that a winner must meet. A window lasts `window_seconds`. A block has one window with
    the original values and `candidates_per_block` windows with one candidate each, or two windows that the
    candidates share. `false_rate` is the false discovery rate. With `apply`, the
    load continues with the best settings. `resume` is the folder of a run to continue.
    """

    budget_seconds: Annotated[
        float,
        _screening(
            "--budget",
            metavar="TIME",
            help="Time limit of the screening: 90s, 30m, 2h.",
            parse=parse_budget,
            format=format_duration,
        ),
    ] = 1800.0
    window_seconds: Annotated[
        float, _screening("--window", metavar="SECONDS", low=1, high=600, help="Seconds of each window.")
    ] = 5.0
    only: Annotated[
        tuple[str, ...],
        _screening(
            metavar="NAME,…",
            help="Settings or topics to test: durability,flushing,innodb_io_capacity. [all]",
            parse=_parse_names,
            format=",".join,
        ),
    ] = ()
    values: Annotated[int, _screening(low=1, high=8, help="Number of values to test for each setting.")] = 2
    allow_risk: Annotated[bool, _screening(help="Also test values that can lose data or change results.")] = (
        False
    )
    objectives: Annotated[
        tuple[str, ...],
        _screening(
            "--slo",
            metavar="CONDITION",
            help='Objective that a winner must meet: "p95<20ms", "tps>500"; repeatable.',
        ),
    ] = ()
    tolerance_percent: Annotated[
        float,
        _screening(
            "--tolerance", low=0.1, high=50, help="A difference within this percentage counts as no effect."
        ),
    ] = 2.0
    false_rate: float = 0.1
    candidates_per_block: int = 4
    primary: str = "tps"
    apply: Annotated[
        bool,
        _screening(help="Apply the best values and keep the load running until it is stopped; then restore."),
    ] = False
    seed: int = 0
    resume: Annotated[str, _screening(metavar="DIR", help="Continue the screening of this recorded run.")] = (
        ""
    )


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one setting, numbered from 1. `change` describes the change.

    With `at_risk` committed data can be lost. `can_share` is False if its change would disturb other
    candidates in the same window.
    """

    number: int
    setting: str
    topic: str
    value: str
    original: str
    change: str
    meaning: str
    risk: str
    at_risk: bool = False
    scope: str = "server"
    can_share: bool = True


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A setting, or a value of it, that is not tested, with the reason."""

    setting: str
    why: str


class TuneWindow(msgspec.Struct, frozen=True, kw_only=True):
    """One window: the candidates set in it (none in a window with the original values), its figures, and what
    disturbed it (empty if undisturbed).

    `harm` is how its candidates have broken the guard, which has ended the window.
    `course` is the primary figure in equal parts of all its `seconds`, those to settle included; 0 if
    unknown.
    """

    candidates: tuple[int, ...] = ()
    figures: dict[str, float] = {}
    disturbance: str = ""
    harm: str = ""
    course: tuple[float, ...] = ()
    seconds: float = 0.0


class TuneBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive windows in random order: one with the original values and some with one candidate each, or
    two that candidates share. With `is_together` one of two windows has the best of all settings.

    `end_seconds` counts from the start of the screening, over all of its runs.
    """

    end_seconds: float
    windows: tuple[TuneWindow, ...]
    is_together: bool = False


class TuneLogHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a screening's log: the plan and candidates of the blocks that follow."""

    profile: str
    server: str
    threads: int
    candidates: tuple[Candidate, ...]


class TuneVerdict(StrEnum):
    """The verdict on a candidate."""

    BETTER = "better"
    WORSE = "worse"
    NO_EFFECT = "no effect"
    CANNOT_TELL = "cannot tell"
    HARMFUL = "harmful"
    REFUSED = "refused"


class CandidateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate compared with the original settings.

    `comparisons` are those of the figures that were measured. `misses` is the objective that its
    windows did not meet, `failure` the error with which the server refused the value, or what the guard has
    seen of a harmful one. `needs_window_seconds`
    is set if the value acts too late for the windows: then it has no verdict. `sql` and `option_line` make
    the value permanent.
    """

    candidate: Candidate
    verdict: TuneVerdict
    pairs: int
    comparisons: tuple[Comparison, ...] = ()
    misses: str = ""
    failure: str = ""
    needs_window_seconds: float | None = None
    sql: str = ""
    option_line: str = ""

    def comparison(self, figure: str) -> Comparison | None:
        return comparison_of(figure, self.comparisons)


class TogetherResult(msgspec.Struct, frozen=True, kw_only=True):
    """The best candidates, tested together. `product_percent` is the effect expected from their single
    effects.
    """

    candidates: tuple[int, ...]
    verdict: TuneVerdict
    pairs: tuple[AbTestPair, ...]
    comparisons: tuple[Comparison, ...]
    product_percent: float
    misses: str = ""

    def comparison(self, figure: str) -> Comparison | None:
        return comparison_of(figure, self.comparisons)


def parse_tune_words(words: Sequence[str]) -> TunePlan:
    """Parse the arguments of a screening: settings and topics, and in any order `10m`, `±2%`, `allow-risk`.

    Raises UsageError for any other word.
    """
    plan = TunePlan(budget_seconds=OPERATORS_BUDGET)
    for word in filter(None, ",".join(words).split(",")):
        if word == "allow-risk":
            plan = replace(plan, allow_risk=True)
        elif word.endswith("%"):
            plan = replace(plan, tolerance_percent=parse_tolerance(word))
        elif word[:1].isdigit():
            plan = replace(plan, budget_seconds=parse_duration(word))
        elif word.replace("_", "").isalnum():
            plan = replace(plan, only=(*plan.only, word))
        else:
            raise UsageError(f"'{word}' is not a setting, topic, time or tolerance", "flushing 10m 2%")
    return plan


def parse_tune_text(text: str) -> TunePlan:
    """Like `parse_tune_words`, for one text."""
    return parse_tune_words(text.split())


class TuneResult(msgspec.Struct, frozen=True, tag="tune", kw_only=True):
    """State of a screening, `by_hand` if an operator started it during a run. `disturbed` is the number of
    discarded blocks; `winner` are the numbers of the candidates to keep. `not_restored` says why the settings
    were not restored at the end; empty if they were.
    """

    plan: TunePlan
    seconds: float
    blocks: int
    disturbed: int
    results: tuple[CandidateResult, ...]
    left_out: tuple[LeftOut, ...]
    together: TogetherResult | None = None
    winner: tuple[int, ...] = ()
    is_complete: bool = False
    not_restored: str = ""
    by_hand: bool = False
    is_over: bool = False

    @property
    def can_be_stopped(self) -> bool:
        """True while a screening that an operator started is in progress."""
        return self.by_hand and not self.is_over

    def result_of(self, number: int) -> CandidateResult:
        return next(one for one in self.results if one.candidate.number == number)
