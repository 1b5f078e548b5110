"""What the reports say about the results of a feature: the answer of a run, sections, chart, tiles.

A feature whose results are in a summary names a `ReportPart` in its `FEATURE`. The reports ask all parts that
have results in the summary.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from tuibench.base.document import Block, Section, Table
from tuibench.base.feature import installed, resolve
from tuibench.model.summary import Summary

if TYPE_CHECKING:
    from tuibench.report.html_chart import Markup

Tile = tuple[str, str, str]
"""A figure of the answer: its name, its value, a remark."""


class ReportPart:
    """What the reports say about the results of one feature."""

    weight: ClassVar[int] = 0
    """If a summary has results of several features, those of the largest weight are the run's answer."""
    is_of_whole_run: ClassVar[bool] = False
    """True if a run is made for these results alone: figures of the whole run mix what must be kept apart."""
    effects_note: ClassVar[str] = ""
    """Says that these results are the effects of the run's changes; empty if they are not."""

    def has_results(self, summary: Summary) -> bool:
        """True if the summary has results of this feature. Only then are the other methods called."""
        raise NotImplementedError

    def has_figures(self, summary: Summary) -> bool:
        """False if the results are without figures, because the experiment ended too early."""
        return True

    def sentence(self, summary: Summary) -> str:
        """The answer of the run; empty if there is none."""
        return ""

    def further_sentences(self, summary: Summary) -> Iterable[str]:
        """Sentences that are printed on leaving a screen, besides the answer."""
        return ()

    def table(self, summary: Summary) -> Table | None:
        """The figures of the answer."""
        return None

    def tiles(self, summary: Summary) -> Sequence[Tile]:
        """The figures of an answer without a table; empty for those of the whole run."""
        return ()

    def chart(self, summary: Summary) -> "Markup | None":
        """The chart of the answer."""
        return None

    def blocks(self, summary: Summary) -> Iterable[Block | Section]:
        """What follows sysbench's summary."""
        return ()

    def sections(self, summary: Summary) -> Iterable[Section]:
        """The sections of the document."""
        return ()


def report_parts(summary: Summary) -> list[ReportPart]:
    """The parts with results in this summary, the weightiest first."""
    parts: list[ReportPart] = [resolve(one.report) for one in installed() if one.report]
    return sorted((part for part in parts if part.has_results(summary)), key=lambda part: -part.weight)


def answering_part(summary: Summary) -> ReportPart | None:
    """The part whose figures are the run's answer; None for a run without an experiment of a feature."""
    return next((part for part in report_parts(summary) if part.has_figures(summary)), None)
