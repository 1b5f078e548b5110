"""Reading of query logs: decompressed and decoded."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from typing import BinaryIO, NamedTuple, cast

from tuibench.base import files
from tuibench.base.errors import UsageError
from tuibench.cli.arguments import STDOUT
from tuibench.workload.query_log import LoggedStatement, QueryLog, unknown_format

HEAD = 1 << 16
"""Number of bytes from which compression, encoding and format are recognised."""


class _Decompressor(NamedTuple):
    magic: bytes
    open: Callable[[BinaryIO], io.BufferedIOBase]


_DECOMPRESSORS = (
    _Decompressor(b"\x1f\x8b", lambda binary: gzip.GzipFile(fileobj=binary)),
    _Decompressor(b"BZh", bz2.BZ2File),
    _Decompressor(b"\xfd7zXZ\0", lzma.LZMAFile),
)
_UNREADABLE = (
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -dc FILE | tuibench profiles from-slow-log -"),
    (b"PK\x03\x04", "a zip archive", "unzip -p FILE | tuibench profiles from-slow-log -"),
    (b"\xfebin", "a binary log", "a slow query log has the statements that read, too"),
    (b"\xd4\xc3\xb2\xa1", "a capture of packets", "give a slow query log"),
)
"""Formats that are refused: their first bytes, their name, and the hint."""

_ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

Progress = Callable[[int, int], None]
"""Called with the bytes read so far, and the size of all files, 0 if unknown."""


class _Rewound(io.RawIOBase):
    """A stream of which the beginning has been read, and is returned again."""

    def __init__(self, head: bytes, rest: BinaryIO | io.BufferedIOBase) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        if not self._head:
            found = (
                self._rest.read1(len(buffer))
                if hasattr(self._rest, "read1")
                else self._rest.read(len(buffer))
            )
        else:
            found, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


def _with_head(stream: BinaryIO | io.BufferedIOBase) -> tuple[bytes, BinaryIO]:
    """The first bytes of a stream, and the whole stream."""
    head = stream.read(HEAD)
    return head, cast(BinaryIO, io.BufferedReader(_Rewound(head, stream), 1 << 18))


def read_logs(names: Sequence[str], log: QueryLog, progress: Progress) -> Iterator[LoggedStatement]:
    """The statements of the files; `-` is stdin.

    Raises UsageError for a file that cannot be read, or contains no statement.
    """
    sizes = [0 if name == STDOUT else _size(name) for name in names]
    before = 0
    for name, size in zip(names, sizes, strict=True):
        stdin = name == STDOUT
        try:
            with (
                nullcontext(sys.stdin.buffer)
                if stdin
                else closing(files.open_regular(files.expand_path(name), pipes=True)) as binary
            ):
                for count, statement in enumerate(
                    _statements("standard input" if stdin else name, binary, log)
                ):
                    if not count % 1000:
                        progress(before + (binary.tell() if size else 0), sum(sizes))
                    yield statement
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            words = error.strerror if isinstance(error, OSError) else None
            raise UsageError(f"cannot read {name}: {words or error}") from error
        before += size


def _size(name: str) -> int:
    try:
        return files.expand_path(name).stat().st_size
    except (OSError, ValueError):
        return 0


def _statements(name: str, binary: BinaryIO, log: QueryLog) -> Iterator[LoggedStatement]:
    head, stream = _with_head(binary)
    for magic, what, hint in _UNREADABLE:
        if head.startswith(magic):
            raise UsageError(f"{name} is {what}", hint.replace("FILE", name))
    for each in _DECOMPRESSORS:
        if head.startswith(each.magic):
            head, stream = _with_head(each.open(stream))
    encoding = _encoding(head)
    text = (
        head.decode(encoding, "replace")
        if not encoding.startswith("utf-16")
        else _decoded_utf16(head, encoding)
    )
    # Bytes that are no UTF-8 are kept for binary texts.
    errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"
    with io.TextIOWrapper(stream, encoding, errors=errors, newline="\n") as lines:
        found = 0
        for statement in log.statements(lines, text):
            found += 1
            yield statement
    if not found and not log.lost:
        raise unknown_format(name, text)


def _encoding(head: bytes) -> str:
    for mark, encoding in _ENCODINGS:
        if head.startswith(mark):
            return encoding
    even, odd = head[:2000:2].count(0), head[1:2000:2].count(0)
    if max(even, odd) > len(head[:2000]) // 5:
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8"


def _decoded_utf16(head: bytes, encoding: str) -> str:
    return head[: len(head) // 2 * 2].decode(encoding, "ignore")
