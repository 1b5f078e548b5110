"""Reads the files of a run directory in any state that a crash can leave, within the limits of `limits`.

A truncated last line is skipped. Any other line that cannot be read, or is beyond the limits, is left out and
counted, and the first one is named.
"""

import fcntl
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from tuibench import files
from tuibench.errors import RunError
from tuibench.files import DECODE_ERRORS
from tuibench.record.files import hdr_log, limits
from tuibench.record.files.hdr_log import LogLine
from tuibench.record.files.limits import FileLimits
from tuibench.record.files.recorder import HISTOGRAMS, SAMPLES
from tuibench.record.files.ticks import InflatedFile

T = TypeVar("T")


class JsonLines(msgspec.Struct):
    """The content of files of lines; `unreadable` counts the lines that are left out, `first` is the first of
    them with the reason.
    """

    unreadable: int = 0
    first: str = ""

    def of(
        self, path: Path, kind: type[T], within: FileLimits, refusal: Callable[[T], str] = lambda _: ""
    ) -> Iterator[T]:
        """Decode each line as a `kind`, unless `refusal` has a reason against it; none of a missing file.

        Raises RunError for a file that is too large, has too many lines, or cannot be read.
        """
        decoder = msgspec.json.Decoder(kind)
        for number, line in _whole_lines(path, within):
            try:
                found = decoder.decode(line)
                reason = limits.number_refusal(line) or refusal(found)
            except DECODE_ERRORS as error:
                reason = _too_long(line, within) or str(error)
            if reason:
                self.unreadable += 1
                self.first = self.first or f"{path.name}, line {number}: {reason}"
            else:
                yield found

    @property
    def note(self) -> str:
        """What was left out, in a sentence; empty for nothing."""
        if not self.unreadable:
            return ""
        lines = (
            "1 line of the record is"
            if self.unreadable == 1
            else f"{self.unreadable:,} lines of the record are"
        )
        return f"{lines} left out: {self.first}{' …' if self.unreadable > 1 else ''}"


def read_document(path: Path, kind: type[T]) -> T | None:
    """Read a file of one JSON value; None if it is missing. Raises RunError if it cannot be read."""
    try:
        data = files.read_bytes(path, limit=limits.DOCUMENT_BYTES)
        found = msgspec.json.decode(data, type=kind)
        reason = limits.number_refusal(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    except DECODE_ERRORS as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if reason:
        raise RunError(f"{path} is damaged: {reason}")
    return found


def read_histograms(directory: Path) -> Iterator[LogLine]:
    """The intervals of a run's latencies, in order. Raises RunError with the number of a damaged line."""
    path = directory / HISTOGRAMS
    for number, line in _whole_lines(path, limits.HISTOGRAMS):
        where = f"{path}, line {number}"
        if reason := _too_long(line, limits.HISTOGRAMS):
            raise RunError(f"{where}: {reason}")
        found = hdr_log.parse_line(line.decode("ascii", "replace"), where)
        if found is not None:
            yield found


def is_being_written(directory: Path, locked: str = SAMPLES) -> bool:
    """True while the process that writes this record is alive and holds the lock of this file."""
    try:
        with files.open_regular(directory / locked) as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def list_directory(folder: Path) -> list[Path]:
    """The names in a folder; empty if it is missing. Raises RunError without permission to read it."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _whole_lines(path: Path, within: FileLimits) -> Iterator[tuple[int, bytes]]:
    """The complete lines, numbered from 1; of one that is too long, the beginning; of a compressed file
    that is damaged, the rest as an empty one.
    """
    try:
        with files.open_regular(path, limit=within.file_bytes) as raw:
            inflated = InflatedFile(raw, limits.INFLATED_BYTES) if path.suffix == ".gz" else None
            stream = io.BufferedReader(inflated) if inflated else raw
            number = 0
            while line := stream.readline(within.line_bytes + 1):
                number += 1
                if number > within.lines:
                    raise RunError(f"{path}, line {number}: more than {within.lines:,} lines are not read")
                if line.endswith(b"\n") or _skip_line(stream):
                    yield number, line
                else:
                    number -= 1
            if inflated and inflated.is_damaged:
                yield number + 1, b""
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, error) from error


def _skip_line(stream: BinaryIO) -> bool:
    """Skip the rest of a line; False if it has no end."""
    while rest := stream.readline(limits.MIB):
        if rest.endswith(b"\n"):
            return True
    return False


def _too_long(line: bytes, within: FileLimits) -> str:
    if not line:
        return "the compressed data is damaged from here on"
    return "" if line.endswith(b"\n") else f"longer than {within.line_bytes >> 10:,} KiB"


def _unreadable(path: Path, error: OSError) -> RunError:
    return RunError(f"cannot read {path}: {error.strerror}")
