"""Log of a screening, `tune.jsonl` in the folder of its run: a head, then a line for each block.

It is written during the screening, so that an interrupted one, even by kill -9, is continued with
`--resume`.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tuibench import files
from tuibench.errors import UsageError
from tuibench.model.experiments.tune import TuneBlock, TuneLogHead

TUNE_LOG = "tune.jsonl"


class TuneLog:
    """Appends blocks; `begin` writes the head and the blocks of the resumed run."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / TUNE_LOG

    def begin(self, head: TuneLogHead, blocks: Sequence[TuneBlock]) -> None:
        lines = [msgspec.json.encode(head), *(msgspec.json.encode(block) for block in blocks)]
        with files.private(self._path, "wb") as stream:
            stream.write(b"".join(line + b"\n" for line in lines))

    def add(self, block: TuneBlock) -> None:
        with self._path.open("ab") as stream:
            stream.write(msgspec.json.encode(block) + b"\n")


def read_tune_log(directory: Path) -> tuple[TuneLogHead, tuple[TuneBlock, ...]]:
    """Read head and blocks; a truncated last line is skipped. Raises UsageError if there is no log."""
    path = directory / TUNE_LOG
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        raise UsageError(f"{directory} has no {TUNE_LOG}", "it is not a run of tuibench tune") from None
    try:
        head = msgspec.json.decode(lines[0], type=TuneLogHead)
        blocks = tuple(msgspec.json.decode(line, type=TuneBlock) for line in lines[1:-1])
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return head, blocks
