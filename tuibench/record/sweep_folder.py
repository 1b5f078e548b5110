"""The directory of a sweep: `sweep.json` contains the plan, `results.jsonl` a line for each finished cell.

The record of each cell's run is in a folder beside them. A line that a crash has truncated is ignored, and
its cell is run again. `sweep.seal` shows that this account has written the plan.
"""

import fcntl
import os
import shutil
from os.path import isfile
from pathlib import Path
from typing import IO, cast

import msgspec

from tuibench.base import files, paths
from tuibench.base.errors import RunError, UsageError
from tuibench.model.sweep import (
    CellResult,
    DataDropped,
    DataReady,
    ServerStart,
    Sweep,
    SweepLine,
    SweepRecord,
)
from tuibench.record import hdr_log, reader, seal
from tuibench.record.reader import JsonLines
from tuibench.record.recorder import pretty_json

RECORD, RESULTS, SEAL = "sweep.json", "results.jsonl", "sweep.seal"
_LINE = cast("type[SweepLine]", SweepLine)


def load_sweep(directory: Path, lines: JsonLines | None = None) -> Sweep:
    """Load the sweep in a folder, finished or not; `lines` counts the lines that were left out.

    Raises UsageError if the folder has no sweep, RunError if it cannot be read.
    """
    return _sweep(_record(directory), directory, lines or JsonLines())


def is_sweep(directory: Path) -> bool:
    return isfile(directory / RECORD)


class SweepFolder:
    """The folder of a running sweep; `sweep` is the sweep with its results so far."""

    def __init__(self, directory: Path, sweep: Sweep, results: IO[bytes]) -> None:
        self.directory = directory
        self.sweep = sweep
        self._results = results

    @classmethod
    def create(cls, directory: Path, record: SweepRecord) -> "SweepFolder":
        """Create a folder. Raises RunError if that is not possible."""
        try:
            paths.ensure_private(directory)
            data = pretty_json(record)
            with files.private(directory / RECORD, "wb") as stream:
                stream.write(data)
            with files.private(directory / SEAL, "wb") as stream:
                stream.write(seal.seal_of(data).encode() + b"\n")
            return cls(directory, Sweep(record=record), _locked(directory))
        except OSError as error:
            raise RunError(
                f"cannot write the sweep's record to {directory}: {error.strerror}",
                "choose another place with --run-dir or TUIBENCH_HOME",
            ) from error

    @classmethod
    def resume(cls, directory: Path) -> "SweepFolder":
        """Resume a sweep. Raises UsageError if the folder has no sweep, or if it is already running."""
        record = _record(directory)
        results = _locked(directory)
        # End a line that a crash has truncated, so that the next one is separate.
        with (directory / RESULTS).open("rb") as written:
            size = written.seek(0, os.SEEK_END)
            written.seek(max(size - 1, 0))
            is_torn = size > 0 and written.read() != b"\n"
        if is_torn:
            results.write(b"\n")
            results.flush()
        return cls(directory, _sweep(record, directory, JsonLines()), results)

    def is_own(self) -> bool:
        """True if this account has written the plan, and nobody has changed it since."""
        try:
            written = files.read_text(self.directory / SEAL, encoding="utf-8", errors="replace")
            return seal.fits(written, files.read_bytes(self.directory / RECORD))
        except OSError:
            return False

    def add(self, line: SweepLine) -> None:
        """Write a line, and add it to the sweep."""
        self._results.write(msgspec.json.encode(line) + b"\n")
        self._results.flush()
        self.sweep = _with(self.sweep, line)

    def discard(self) -> None:
        """Remove the folder of a sweep that never started."""
        self.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def close(self) -> None:
        self._results.close()


def _record(directory: Path) -> SweepRecord:
    try:
        found = reader.read_document(directory / RECORD, SweepRecord)
    except RunError as error:
        raise UsageError(error.message) from error
    if found is None:
        raise UsageError(f"there is no sweep in {directory}", f"a sweep's folder contains {RECORD}")
    return found


def _sweep(record: SweepRecord, directory: Path, lines: JsonLines) -> Sweep:
    sweep = Sweep(record=record)
    for line in lines.of(directory / RESULTS, _LINE, hdr_log.RESULTS):
        sweep = _with(sweep, line)
    return sweep


def _with(sweep: Sweep, line: SweepLine) -> Sweep:
    match line:
        case CellResult():
            others = (one for one in sweep.results if one.cell != line.cell)
            return msgspec.structs.replace(sweep, results=(*others, line))
        case DataReady():
            return msgspec.structs.replace(sweep, data=(*_without(sweep, line.data), line))
        case DataDropped():
            gone = (msgspec.structs.replace(one, prepared=False) for one in sweep.data)
            kept = _without(sweep, line.data)
            return msgspec.structs.replace(
                sweep, data=(*kept, *(one for one in gone if one.data == line.data))
            )
        case ServerStart():
            return msgspec.structs.replace(sweep, starts=(*sweep.starts, line))


def _without(sweep: Sweep, data: str) -> tuple[DataReady, ...]:
    return tuple(one for one in sweep.data if one.data != data)


def _locked(directory: Path) -> IO[bytes]:
    """The open file of results, locked by this process."""
    stream = files.private(directory / RESULTS, "ab")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise UsageError(f"the sweep in {directory} is used by another process") from None
    return stream
