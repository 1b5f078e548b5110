"""A bundle: recorded runs or a sweep in one file that can be published and run again.

A bundle is a .tar.gz of `manifest.json`, the record below `record/`, and its report. The manifest has the
digest of every other file, so that a changed bundle is noticed.

Values that identify the user or the hosts are removed from every file. First, the values of the fields that
contain logins, addresses, paths and host names (`FIELDS`) are replaced by a kind and a number: `user 1`,
`host 2`. Then the same values are replaced wherever they are a word of another text. A value that is also a
word of the profile or the name of the database is kept there, and listed.
"""

import errno
import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec

from tuibench.base import files, sanitize, units
from tuibench.base.errors import RunError, UsageError

MANIFEST, RECORD = "manifest.json", "record"
MOST_FILES, MOST_BYTES = 20_000, 2 << 30
"""The maximum of files in a bundle, and of their bytes without compression."""
MANIFEST_BYTES, LONG_NAME_BYTES, CHUNK_BYTES = 8 << 20, 4 << 10, 1 << 18

COMMON = frozenset({"", "localhost", "127.0.0.1", "::1", "root", "mysql", "tuibench"})
"""Values that identify nobody, and are therefore kept."""
FIELDS: Mapping[str, str] = {
    "user": "user",
    "host": "host",
    "socket": "path",
    "datadir": "path",
    "pid_file": "path",
    "mount": "path",
    "path": "path",
    "ssl_ca": "path",
    "ssl_cert": "path",
    "ssl_key": "path",
    "ssl_server_name": "host",
    "server_public_key_path": "path",
    "identity": "server",
}
"""Fields whose values are removed, and the kind that replaces them."""

REMOVED = re.compile(rf"\b(?:{'|'.join(dict.fromkeys(FIELDS.values()))}) \d+\b")
"""The text in place of a removed value."""

EMPTIED = ("login", "password", "password_command")
KEPT = ("database", "profile", "profile_text", "sql", "version_text", "version", "flavour")
"""Fields whose values are kept: a reproduction needs them."""

_WORD = re.compile(r"[\w./:-]*")
_LOGIN = re.compile(r"[\w.$%-]+@[\w.:%\[\]-]+")
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
OF_OTHERS = ("events.jsonl", "status.jsonl")
"""Files whose texts may name other clients of the server."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json` of a bundle."""

    schema: Literal["tuibench.bundle/1"] = "tuibench.bundle/1"
    tuibench: str
    """The version that made the bundle."""
    kind: Literal["runs", "sweep"]
    records: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """The names of the folders below `record/`."""
    removed: tuple[str, ...] = ()
    """What was removed, a line for each kind of value."""
    files: dict[str, str] = {}
    """The SHA-256 of every other file, by name."""


class Redaction:
    """Removes values that identify the user or the hosts. `known` maps such values of this host to their
    kind.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._used: dict[str, int] = {}
        self._others = 0
        self._profile = ""
        for value, kind in (known or {}).items():
            self._name(value, kind)

    def learn(self, value: Any, parent: str = "") -> None:
        """Collect the values to be removed from the fields of a decoded document."""
        if isinstance(value, list):
            for each in value:
                self.learn(each, parent)
        elif isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, str) and key not in KEPT:
                    kind = "host" if key == "name" and parent in ("host", "hosts") else FIELDS.get(key, "")
                    if kind:
                        self._name(each, kind)
                if key in KEPT and isinstance(each, str):
                    self._profile += f"\n{each}"
                self.learn(each, key)

    def clean(self, value: Any, parent: str = "", *, of_others: bool = False) -> Any:
        """The document without the collected values; `of_others`: its texts may name other clients."""
        match value:
            case list():
                return [self.clean(each, parent, of_others=of_others) for each in value]
            case dict():
                return {
                    self._text(key, of_others=False): self._field(key, each, parent, of_others)
                    for key, each in value.items()
                }
            case str():
                return self._text(value, of_others=of_others)
        return value

    def _field(self, key: str, value: Any, parent: str, of_others: bool) -> Any:
        if key in EMPTIED and isinstance(value, list | str):
            return [] if isinstance(value, list) else ""
        if isinstance(value, str):
            if key in KEPT:
                return value
            kind = "host" if key == "name" and parent in ("host", "hosts") else FIELDS.get(key, "")
            if kind and (plain := _plain(value)) in self._names:
                self._used[plain] = self._used.get(plain, 0) + 1
                return self._names[plain]
        return self.clean(value, key, of_others=of_others)

    def _text(self, text: str, *, of_others: bool) -> str:
        found = text if self._is_plain(text) else self._pattern.sub(self._replace, text)
        if of_others:
            found, logins = _LOGIN.subn("(login)", found)
            found, addresses = _ADDRESS.subn("(address)", found)
            self._others += logins + addresses
        return found

    def _is_plain(self, text: str) -> bool:
        """True for a word of the record's format, such as run/1: it is kept even if it contains a user's
        name.
        """
        return _WORD.fullmatch(text) is not None and all(
            self._names[match[0]].startswith("user ") and match[0] != text
            for match in self._pattern.finditer(text)
        )

    def _replace(self, match: re.Match[str]) -> str:
        self._used[match[0]] = self._used.get(match[0], 0) + 1
        return self._names[match[0]]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Matches all values that are replaced in texts; cached, so `learn` must not be called afterwards."""
        words = [value for value in self._names if not self.is_kept(value)]
        choice = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or r"(?!)"
        return re.compile(rf"(?<![\w-])(?:{choice})(?![\w-])")

    def is_kept(self, value: str) -> bool:
        """True for a value that is also a word of the profile: it is replaced in its own field only."""
        return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self._profile) is not None

    def remains(self, text: str) -> bool:
        """True if any of the values is still in a text."""
        return not self._is_plain(text) and self._pattern.search(text) is not None

    def summary(self) -> Iterator[str]:
        """Lines that say what was removed, without the values."""
        for value, name in self._names.items():
            if count := self._used.get(value, 0):
                kept = (
                    "; it stays in other texts, being a word of the profile or the database"
                    if self.is_kept(value)
                    else ""
                )
                yield f"{name}: {units.pluralize(count, 'place')}{kept}"
        if self._others:
            yield f"login or address of another client: {units.pluralize(self._others, 'place')}"

    def _name(self, value: str, kind: str) -> None:
        plain = _plain(value)
        if plain in COMMON or plain in self._names:
            return
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self._names[plain] = f"{kind} {self._counts[kind]}"


def _plain(value: str) -> str:
    return value.strip().rstrip("/")


JSON_LINES = (".jsonl", ".jsonl.gz")


def pack(
    place: Path,
    records: Mapping[str, Path],
    redaction: Redaction,
    manifest: Manifest,
    pages: Callable[[Path], Mapping[str, str]],
    folder: Path,
) -> Manifest:
    """Write a bundle of record folders, which are given by their names in the bundle.

    The cleaned records are written to `folder`, from which `pages` makes the report. Raises RunError if a
    file cannot be read or written, or if a value remains that should have been removed.
    """
    try:
        documents = {
            f"{RECORD}/{name}/{path.relative_to(directory)}": _read(path)
            for name, directory in records.items()
            for path in sorted(directory.rglob("*"))
            if path.is_file() and path.suffix not in (".html", ".lock")
        }
        for name, data in documents.items():
            for value in _decoded(name, data):
                redaction.learn(value)
        contents = {name: _cleaned(name, data, redaction) for name, data in documents.items()}
        for name, data in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        contents |= {name: text.encode() for name, text in pages(folder / RECORD).items()}
        for name, data in contents.items():
            if any(map(redaction.remains, _texts_of(name, data))):
                raise RunError(f"{name} still has a name that should be removed", "nothing was written")
        done = msgspec.structs.replace(
            manifest,
            removed=tuple(redaction.summary()),
            files={name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        )
        about = sanitize.json_text(msgspec.json.format(msgspec.json.encode(done), indent=2).decode())
        _write(place, {MANIFEST: about.encode() + b"\n", **contents})
    except (OSError, *files.DECODE_ERRORS) as error:
        raise RunError(f"the bundle {place} cannot be made: {error}") from error
    return done


def _read(path: Path) -> bytes:
    data = files.read_bytes(path, limit=MOST_BYTES)
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _decoded(name: str, data: bytes) -> Iterator[Any]:
    if name.endswith(".json"):
        yield json.loads(data)
    elif name.endswith(JSON_LINES):
        yield from (json.loads(line) for line in data.splitlines() if line.endswith(b"}"))


def _cleaned(name: str, data: bytes, redaction: Redaction) -> bytes:
    """The content of a file without the removed values; a file that is not JSON is unchanged."""
    of_others = name.endswith(OF_OTHERS)
    cleaned = (redaction.clean(value, of_others=of_others) for value in _decoded(name, data))
    if name.endswith(".json"):
        return json.dumps(next(cleaned), indent=2, ensure_ascii=False).encode() + b"\n"
    if not name.endswith(JSON_LINES):
        return data
    lines = b"".join(msgspec.json.encode(value) + b"\n" for value in cleaned)
    return gzip.compress(lines, mtime=0) if name.endswith(".gz") else lines


def _texts_of(name: str, data: bytes) -> Iterator[str]:
    """The texts of a file that must not contain a removed value."""
    if name.endswith((".json", *JSON_LINES)):
        plain = gzip.decompress(data) if name.endswith(".gz") else data
        for value in _decoded(name, plain):
            yield from _texts(value)
    else:
        yield data.decode(errors="replace")


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for key, each in value.items():
                yield key
                if key not in KEPT:
                    yield from _texts(each)


def _write(place: Path, contents: Mapping[str, bytes]) -> None:
    """Write the archive; equal contents give equal files."""
    with files.private(place, "wb") as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:  # noqa: SIM117
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, data in contents.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), files.OWNER_ONLY
                archive.addfile(entry, io.BytesIO(data))


def unpack(place: Path, folder: Path) -> Manifest:
    """Extract the files of a bundle to a new folder; returns its manifest.

    A bundle is untrusted. It is read as a stream, nothing is written outside the folder, and sizes beyond the
    limits are refused before they take memory or disk. Raises UsageError for a file that is not a bundle,
    RunError for a bundle that was changed.
    """
    digests: dict[str, str] = {}
    about = b""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with files.open_regular(place) as stream:
            for name, parts in _entries(_Unpacked(stream)):
                if name == MANIFEST and not about:
                    about = b"".join(parts)
                    continue
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                digest = hashlib.sha256()
                with (folder / name).open("xb") as out:
                    for part in parts:
                        digest.update(part)
                        out.write(part)
                digests[name] = digest.hexdigest()
        manifest = msgspec.json.decode(about, type=Manifest)
    except FileExistsError as error:
        raise _no_bundle(place, "it has two entries of one name") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunError(
                f"cannot unpack {place}: {error.strerror}", "TMPDIR names a folder with more space"
            ) from error
        raise _no_bundle(place, error.strerror or str(error)) from error
    except (EOFError, tarfile.TarError, zlib.error, *files.DECODE_ERRORS) as error:
        raise _no_bundle(place, sanitize.excerpt(str(error))) from error
    for name in manifest.records:
        if "/" in name or not _is_plain_name(name) or not (folder / RECORD / name).is_dir():
            raise _no_bundle(place, f"{MANIFEST}: it has no record '{sanitize.excerpt(name)}'")
    changed = [
        name
        for name in dict.fromkeys((*manifest.files, *digests))
        if digests.get(name) != manifest.files.get(name)
    ]
    if changed:
        raise RunError(
            f"{place} was changed after it was made: {sanitize.excerpt(changed[0])} does not match its "
            "digest",
            "get it again from whoever published it",
        )
    return manifest


def _no_bundle(place: Path, reason: str) -> UsageError:
    return UsageError(f"{place} is not a bundle: {reason}", "tuibench bundle RUN makes one")


class _Unpacked:
    """The decompressed bytes of a .tar.gz, read on demand."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = gzip.GzipFile(fileobj=stream)
        self._left = files.inflated_limit(stream, MOST_BYTES)

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises EOFError if there are fewer, `tarfile.TarError` beyond the limit."""
        self._left -= size
        if self._left < 0:
            raise tarfile.TarError("it is larger than a bundle can be")
        found = bytearray()
        while len(found) < size:
            if not (more := self._stream.read(size - len(found))):
                raise EOFError("it is incomplete")
            found += more
        return bytes(found)


def _entries(stream: _Unpacked) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The name and the content of each file; a content must be read before the next file.

    `tarfile` itself also reads links, devices, sparse files, and headers of any length into memory. A bundle
    has none of them: they raise `tarfile.TarError`.
    """
    for _ in range(MOST_FILES):
        entry = _header(stream)
        if entry is None:
            return
        name = entry.name
        if entry.type == tarfile.XHDTYPE:
            # A pax header precedes a file whose name does not fit into the file's own header.
            name = _long_name(b"".join(_content(stream, min(entry.size, LONG_NAME_BYTES))))
            entry = _header(stream)
        if entry is None or entry.type != tarfile.REGTYPE or entry.size < 0 or not _is_plain_name(name):
            raise tarfile.TarError(f"it has an entry that no bundle has: {sanitize.excerpt(name)}")
        if entry.size > (MANIFEST_BYTES if name == MANIFEST else MOST_BYTES):
            raise tarfile.TarError(f"{name} is too large")
        content = _content(stream, entry.size)
        yield name, content
        for _ in content:
            continue
    raise tarfile.TarError(f"it has more than {MOST_FILES:,} files")


def _header(stream: _Unpacked) -> tarfile.TarInfo | None:
    """The header of the next entry; None at the end of the archive."""
    block = stream.read(tarfile.BLOCKSIZE)
    return tarfile.TarInfo.frombuf(block, "utf-8", "strict") if any(block) else None


def _content(stream: _Unpacked, size: int) -> Iterator[bytes]:
    for place in range(0, size, CHUNK_BYTES):
        yield stream.read(min(CHUNK_BYTES, size - place))
    stream.read(-size % tarfile.BLOCKSIZE)


def _long_name(header: bytes) -> str:
    """The path in a pax header, which must be its only record: `57 path=record/…` and a newline."""
    found = _PATH.fullmatch(header)
    if found is None:
        raise tarfile.TarError("it has a header that no bundle has")
    return found[1].decode()


_PATH = re.compile(rb"\d+ path=([^\n]+)\n")


def _is_plain_name(name: str) -> bool:
    return name.isprintable() and all(part not in ("", ".", "..") for part in name.split("/"))
