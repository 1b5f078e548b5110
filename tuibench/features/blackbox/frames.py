"""What a black box holds: readings of a server several times a second, and the record of the time around
something that went wrong.

    RUN/blackbox-1.json.gz    BlackBox    the first one of a run

A record has statements with their literals as `?`, and of InnoDB's status only the sections without
statements. All times are seconds since the start of the load.
"""

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from tuibench.base import files, sanitize
from tuibench.base.errors import RunError, UsageError
from tuibench.model.event import Trouble
from tuibench.model.server import Flavour, LockWait, OpenTransaction
from tuibench.record.reader import list_directory

NAME = "blackbox-{}.json.gz"
_NAME = re.compile(r"blackbox-([0-9]{1,4})\.json\.gz")
MOST_SECONDS = 1e9
"""The longest time of a run."""
MOST_BYTES = 1 << 28
"""The maximum of a record that is read, without compression."""


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A connection in the list of sessions."""

    id: int
    command: str
    elapsed_ms: int
    """The time in this state, as the server reports it: MySQL reports whole seconds."""
    state: str = ""
    statement: str = ""
    user: str = ""
    host: str = ""
    is_ours: bool = False
    """True for a connection of the load."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reading."""

    at_seconds: float
    gap: str = ""
    """Why there is no answer of the server; then only the threads are known."""
    sessions: tuple[SessionRow, ...] = ()
    """All that execute a statement, and the latest ones of the others, limited in number."""
    connections: int = 0
    """The number of all connections of clients."""
    transactions: tuple[OpenTransaction, ...] = ()
    """Those that wait for a lock or are older than a second."""
    waiting: tuple[int, ...] = ()
    """The connections whose transaction waits for a row lock."""
    waits: tuple[LockWait, ...] = ()
    threads: dict[str, int] | None = None
    """The threads of the server's process by state; None if they were not read this time."""
    innodb: str = ""
    """InnoDB's status; empty if it was not read this time."""


class SampleFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The main figures of a sample of the session, by name; unknown ones are absent."""

    at_seconds: float
    values: dict[str, float]


class BlackBox(msgspec.Struct, frozen=True, kw_only=True):
    """The record of the time around something that went wrong."""

    schema: Literal["tuibench.blackbox/1"] = "tuibench.blackbox/1"
    number: int
    flavour: Flavour
    reasons: tuple[str, ...]
    troubles: tuple[Trouble, ...] = ()
    """Empty if only the operator asked for it."""
    start_seconds: float
    """When what went wrong began."""
    end_seconds: float
    frames: tuple[Frame, ...]
    figures: tuple[SampleFigures, ...] = ()
    events: tuple[tuple[float, str], ...] = ()
    """The session's events in that time."""
    gaps: tuple[str, ...] = ()
    """What could not be read, and why."""


_HEADING = re.compile(r"^-+\n([A-Z][A-Z /]+)\n-+$", re.MULTILINE)
WITHOUT_STATEMENTS = (
    "BACKGROUND THREAD",
    "SEMAPHORES",
    "FILE I/O",
    "INSERT BUFFER AND ADAPTIVE HASH INDEX",
    "LOG",
    "BUFFER POOL AND MEMORY",
    "ROW OPERATIONS",
)
MOST_SECTION_CHARACTERS = 1_500
_HISTORY = re.compile(r"^(?:Trx id counter|Purge done for|History list length).*$", re.MULTILINE)


def innodb_excerpt(status: str) -> str:
    """The sections of InnoDB's status that have no statements, and the lines about purge."""
    parts = _HEADING.split(status)
    kept = ["\n".join(_HISTORY.findall(status))]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title in WITHOUT_STATEMENTS:
            kept.append(f"{title}\n{body.strip()[:MOST_SECTION_CHARACTERS]}")
    return "\n\n".join(each for each in kept if each)


def write_box(directory: Path, box: BlackBox) -> None:
    """Writes a record atomically. Raises OSError."""
    path = directory / NAME.format(box.number)
    draft = path.with_name(f".{path.name}")
    text = sanitize.json_text(msgspec.json.encode(box).decode())
    with files.private(draft, "wb") as stream:
        stream.write(gzip.compress(text.encode(), 6, mtime=0))
    draft.rename(path)


def box_numbers(paths: Iterable[Path]) -> list[int]:
    """The numbers of the records among these files."""
    return sorted(int(found[1]) for path in paths if (found := _NAME.fullmatch(path.name)))


def read_box(directory: Path, number: int = 0) -> BlackBox:
    """A record of a run, without a number the last one. Raises UsageError if there is none, RunError if it
    cannot be read.
    """
    known = box_numbers(list_directory(directory))
    if not known:
        raise UsageError(
            f"{directory.name} has no black box",
            "one is kept at a stall, an outage, a broken guard, the key W, or tuibench ctl blackbox",
        )
    chosen = number or known[-1]
    if chosen not in known:
        raise UsageError(
            f"{directory.name} has no black box {chosen}", f"it has {', '.join(map(str, known))}"
        )
    path = directory / NAME.format(chosen)
    try:
        inflate = zlib.decompressobj(31)
        text = inflate.decompress(files.read_bytes(path), MOST_BYTES)
        if not inflate.eof:
            raise RunError(f"{path} is damaged, or larger than {MOST_BYTES >> 20} MiB")
        return _checked(msgspec.json.decode(text, type=BlackBox))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except (zlib.error, msgspec.DecodeError) as error:
        raise RunError(f"{path} is damaged: {sanitize.excerpt(str(error))}") from error


def _checked(box: BlackBox) -> BlackBox:
    """The record, which somebody else may have written. Raises ValueError for one that no session keeps."""
    readings = [frame.at_seconds for frame in box.frames]
    times = [
        *(box.start_seconds, box.end_seconds),
        *readings,
        *(each.at_seconds for each in box.figures),
        *(at for at, _ in box.events),
    ]
    if not box.reasons:
        raise msgspec.ValidationError("it has no reason")
    if any(abs(at) > MOST_SECONDS for at in times) or readings != sorted(readings):
        raise msgspec.ValidationError("its times are not those of a run")
    return box
