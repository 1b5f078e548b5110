"""Screening of settings (`tune`): plan, measurements and results."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tuibench.base.errors import UsageError
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

    A block has one window with the original values and `candidates_per_block` windows with one candidate
    each, or two windows that the candidates share.
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
    """Names of settings and topics; empty for all."""
    values: Annotated[int, _screening(low=1, high=8, help="Number of values to test for each setting.")] = 2
    """The number of values to test for each setting."""
    allow_risk: Annotated[bool, _screening(help="Also test values that can lose data or change results.")] = (
        False
    )
    """True to include values that can lose data or change results."""
    objectives: Annotated[
        tuple[str, ...],
        _screening(
            "--slo",
            metavar="CONDITION",
            help='Objective that a winner must meet: "p95<20ms", "tps>500"; repeatable.',
        ),
    ] = ()
    """Thresholds such as `p95<20ms` that a winner must meet."""
    tolerance_percent: Annotated[
        float,
        _screening(
            "--tolerance", low=0.1, high=50, help="A difference within this percentage counts as no effect."
        ),
    ] = 2.0
    false_rate: float = 0.1
    """The false discovery rate."""
    candidates_per_block: int = 4
    primary: str = "tps"
    apply: Annotated[
        bool,
        _screening(help="Apply the best values and keep the load running until it is stopped; then restore."),
    ] = False
    """True to continue the load with the best settings."""
    seed: int = 0
    resume: Annotated[str, _screening(metavar="DIR", help="Continue the screening of this recorded run.")] = (
        ""
    )
    """The folder of a run to continue."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one setting."""

    number: int
    """Counts from 1."""
    setting: str
    topic: str
    value: str
    original: str
    change: str
    """The change in words."""
    meaning: str
    risk: str
    at_risk: bool = False
    """True if committed data can be lost with the value."""
    scope: str = "server"
    can_share: bool = True
    """False if its change would disturb other candidates in the same window."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A setting, or a value of it, that is not tested, with the reason."""

    setting: str
    why: str


class TuneWindow(msgspec.Struct, frozen=True, kw_only=True):
    """One window."""

    candidates: tuple[int, ...] = ()
    """The candidates set in it; empty in a window with the original values."""
    figures: dict[str, float] = {}
    disturbance: str = ""
    """What disturbed the window; empty if undisturbed."""
    harm: str = ""
    """How its candidates have broken the guard, which has ended the window."""
    course: tuple[float, ...] = ()
    """The primary figure in equal parts of all its `seconds`, those to settle included; 0 if unknown."""
    seconds: float = 0.0


class TuneBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive windows in random order: one with the original values and some with one candidate each, or
    two that candidates share.
    """

    end_seconds: float
    """Counts from the start of the screening, over all of its runs."""
    windows: tuple[TuneWindow, ...]
    is_together: bool = False
    """True if one of two windows has the best of all settings."""


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

    `sql` and `option_line` make the value permanent.
    """

    candidate: Candidate
    verdict: TuneVerdict
    pairs: int
    comparisons: tuple[Comparison, ...] = ()
    """Those of the figures that were measured."""
    misses: str = ""
    """The objective that its windows did not meet."""
    failure: str = ""
    """The error with which the server refused the value, or how a harmful value has broken the guard."""
    needs_window_seconds: float | None = None
    """Set if the value acts too late for the windows: then it has no verdict."""
    sql: str = ""
    option_line: str = ""

    def comparison(self, figure: str) -> Comparison | None:
        return comparison_of(figure, self.comparisons)


class TogetherResult(msgspec.Struct, frozen=True, kw_only=True):
    """The best candidates, tested together."""

    candidates: tuple[int, ...]
    verdict: TuneVerdict
    pairs: tuple[AbTestPair, ...]
    comparisons: tuple[Comparison, ...]
    product_percent: float
    """The effect expected from their single effects."""
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
    """State of a screening."""

    plan: TunePlan
    seconds: float
    blocks: int
    disturbed: int
    """The number of discarded blocks."""
    results: tuple[CandidateResult, ...]
    left_out: tuple[LeftOut, ...]
    together: TogetherResult | None = None
    winner: tuple[int, ...] = ()
    """The numbers of the candidates to keep."""
    is_complete: bool = False
    not_restored: str = ""
    """Why the settings were not restored at the end; empty if they were."""
    by_hand: bool = False
    """True if an operator started it during a run."""
    is_over: bool = False

    @property
    def can_be_stopped(self) -> bool:
        """True while a screening that an operator started is in progress."""
        return self.by_hand and not self.is_over

    def result_of(self, number: int) -> CandidateResult:
        return next(one for one in self.results if one.candidate.number == number)
