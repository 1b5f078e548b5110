"""What the reports say about a screening of settings."""

from collections.abc import Iterator
from typing import ClassVar

from tuibench.base.document import Block, Section, Table, section
from tuibench.features.tune.text import tune_blocks, tune_sentence, winner_table
from tuibench.model.summary import Summary
from tuibench.report.part import ReportPart


class TuneReport(ReportPart):
    """The part about a screening."""

    weight: ClassVar = 3
    is_of_whole_run: ClassVar = True
    effects_note: ClassVar = "The effects of the changes are those of the screening."

    def has_results(self, summary: Summary) -> bool:
        return summary.tune is not None

    def sentence(self, summary: Summary) -> str:
        return tune_sentence(summary.tune) if summary.tune is not None else ""

    def table(self, summary: Summary) -> Table | None:
        return winner_table(summary.tune) if summary.tune is not None else None

    def blocks(self, summary: Summary) -> Iterator[Block | Section]:
        if summary.tune is not None:
            yield from tune_blocks(summary.tune)

    def sections(self, summary: Summary) -> Iterator[Section]:
        yield section("Screening of settings", *self.blocks(summary))


REPORT = TuneReport()
