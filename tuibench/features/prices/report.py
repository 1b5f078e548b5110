"""What the reports say about a price list."""

from collections.abc import Iterator
from typing import ClassVar

from tuibench.base.document import Block, Section, Table, section
from tuibench.features.prices.text import TITLE, answer, prices_blocks, prices_table
from tuibench.model.summary import Summary
from tuibench.report.part import ReportPart


class PricesReport(ReportPart):
    """The part about prices."""

    weight: ClassVar = 3
    is_of_whole_run: ClassVar = True
    effects_note: ClassVar = "The effects of the changes are the prices."

    def has_results(self, summary: Summary) -> bool:
        return summary.prices is not None

    def sentence(self, summary: Summary) -> str:
        return answer(summary.prices) if summary.prices is not None else ""

    def table(self, summary: Summary) -> Table | None:
        found = summary.prices
        return prices_table(found) if found is not None and found.has_prices else None

    def blocks(self, summary: Summary) -> Iterator[Block | Section]:
        if summary.prices is not None:
            yield from prices_blocks(summary.prices)

    def sections(self, summary: Summary) -> Iterator[Section]:
        yield section(TITLE, *self.blocks(summary))


REPORT = PricesReport()
