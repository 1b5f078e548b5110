"""Log of a screening, `tune.jsonl` in the folder of its run: a head, then a line for each block.

It is written during the screening, so that an interrupted one, even by kill -9, is continued with
`--resume`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tuibench import files
from tuibench.errors import UsageError
from tuibench.files import DECODE_ERRORS
from tuibench.model.experiments.tune import TuneBlock, TuneLogHead
from tuibench.record.files import limits

T = TypeVar("T")
TUNE_LOG = "tune.jsonl"


class TuneLog:
    """The log of the last screening of a run."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / TUNE_LOG
        self._head: TuneLogHead | None = None
        self._written = 0

    def write(self, head: TuneLogHead, blocks: Sequence[TuneBlock]) -> None:
        """Appends the blocks that are new; those of another screening replace the log."""
        lines = [msgspec.json.encode(block) + b"\n" for block in blocks[self._written :]]
        if head is not self._head:
            lines = [msgspec.json.encode(each) + b"\n" for each in (head, *blocks)]
            files.private(self._path, "wb").close()
        if lines:
            with self._path.open("ab") as stream:
                stream.write(b"".join(lines))
        self._head, self._written = head, len(blocks)


def read_tune_log(directory: Path) -> tuple[TuneLogHead, tuple[TuneBlock, ...]]:
    """Read head and blocks; a truncated last line is skipped.

    Raises UsageError if there is no log, or if a line cannot be read.
    """
    path = directory / TUNE_LOG
    try:
        first, *lines, _ = files.read_bytes(path, limit=limits.RESULTS.file_bytes).split(b"\n")
    except (OSError, ValueError) as error:
        reason = f": {error.strerror}" if isinstance(error, OSError) else ""
        raise UsageError(
            f"{directory} has no {TUNE_LOG}{reason}", "it is not a run of tuibench tune"
        ) from None
    head = _decoded(first, TuneLogHead, path, 1)
    return head, tuple(_decoded(line, TuneBlock, path, number) for number, line in enumerate(lines, 2))


def _decoded(line: bytes, kind: type[T], path: Path, number: int) -> T:
    try:
        found, refusal = msgspec.json.decode(line, type=kind), limits.number_refusal(line)
    except DECODE_ERRORS as error:
        raise UsageError(f"{path}, line {number} cannot be read: {error}") from None
    if refusal:
        raise UsageError(f"{path}, line {number} cannot be read: {refusal}")
    return found
