"""What the reports say about crashes of a session's private server."""

from collections.abc import Iterator
from typing import ClassVar

from tuibench.base.document import Block, Section, Table
from tuibench.features.crash.text import crash_blocks, crash_sentence, crashes_table
from tuibench.model.summary import Summary
from tuibench.report.part import ReportPart


class CrashesReport(ReportPart):
    """The part about crashes."""

    weight: ClassVar = 1

    def has_results(self, summary: Summary) -> bool:
        return bool(summary.crashes)

    def sentence(self, summary: Summary) -> str:
        return crash_sentence(max(summary.crashes, key=lambda crash: crash.commits.lost))

    def further_sentences(self, summary: Summary) -> Iterator[str]:
        yield from map(crash_sentence, summary.crashes)

    def table(self, summary: Summary) -> Table:
        return crashes_table(summary.crashes)

    def blocks(self, summary: Summary) -> Iterator[Block | Section]:
        yield from crash_blocks(summary.crashes)

    def sections(self, summary: Summary) -> Iterator[Section]:
        yield from (block for block in crash_blocks(summary.crashes) if isinstance(block, Section))


REPORT = CrashesReport()
