"""Reads the files of a run directory in any state that a crash can leave.

A truncated last line is skipped; so is any other unreadable line, which is counted.
"""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from tuibench.errors import RunError
from tuibench.files import DECODE_ERRORS
from tuibench.model.measurements.sample import Sample
from tuibench.record.files import hdr_log
from tuibench.record.files.hdr_log import LogLine
from tuibench.record.files.recorder import HISTOGRAMS, SAMPLES
from tuibench.record.files.ticks import SampleLine, compressed_lines, decode_sample

T = TypeVar("T")


class JsonLines(msgspec.Struct):
    """The content of a file of lines; `unreadable` counts the unreadable ones before the last."""

    unreadable: int = 0

    def samples(self, path: Path) -> Iterator[Sample]:
        """The samples of a run; none if the file is missing. Raises RunError without permission to read it."""
        decoder = msgspec.json.Decoder(SampleLine)
        try:
            for line in compressed_lines(path):
                try:
                    yield decode_sample(decoder.decode(line))
                except (*DECODE_ERRORS, ValueError):
                    self.unreadable += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unreadable(path, error) from error

    def of(self, path: Path, kind: type[T]) -> Iterator[T]:
        """Decode each line as a `kind`. A missing file has no lines. Raises RunError without permission to
        read it.
        """
        decoder = msgspec.json.Decoder(kind)
        for line in _whole_lines(path):
            try:
                yield decoder.decode(line)
            except DECODE_ERRORS:
                self.unreadable += 1


def read_document(path: Path, kind: type[T]) -> T | None:
    """Read a file of one JSON value; None if it is missing. Raises RunError if it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    except DECODE_ERRORS as error:
        raise RunError(f"{path} is damaged: {error}") from error


def read_histograms(directory: Path) -> Iterator[LogLine]:
    """The intervals of a run's latencies, in order."""
    try:
        with (directory / HISTOGRAMS).open(encoding="ascii", errors="replace") as stream:
            yield from hdr_log.parse_log(stream)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(directory / HISTOGRAMS, error) from error


def is_being_written(directory: Path, locked: str = SAMPLES) -> bool:
    """True while the process that writes this record is alive and holds the lock of this file."""
    try:
        with (directory / locked).open("rb") as stream:
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


def _whole_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            for line in stream:
                if line.endswith(b"\n"):
                    yield line
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> RunError:
    return RunError(f"cannot read {path}: {error.strerror}")
