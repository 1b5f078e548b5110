"""`tuibench cluster install`: the archive, sent to load hosts that have nothing but `sh` and `tar`.

An archive has an interpreter of its own, so nothing else is installed. It goes the way that a load takes to a
host: over ssh, or over the command of an `exec:` place, with a shell in the place of `tuibench agent`. The
host unpacks it beside the old one, runs it once, and replaces the old one only if it runs.
"""

import asyncio
import contextlib
import gzip
import lzma
import os
import shlex
import shutil
import struct
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from tuibench.base import sanitize
from tuibench.base.errors import RunError, UsageError
from tuibench.base.installation import is_archive
from tuibench.base.own_process import own_interpreter
from tuibench.features.cluster.carrier import CommandCarrier, shell_carrier
from tuibench.model.cluster import ClusterPlan

FOLDER = "tuibench"
"""The only folder at the top of an archive."""

INTERPRETER = f"{FOLDER}/libexec/python3"
MACHINES = {62: "x86_64", 183: "aarch64"}
"""Machines of an ELF file, by the number in its header."""

ELF_MACHINE = struct.Struct("<4s14xH")
CHUNK_BYTES = 1 << 18
SAID_BYTES = 1 << 16
INSTALL = """\
set -e
to={to}
fail() {{ echo "tuibench: $*" >&2; exit 1; }}
[ "$(uname -s) $(uname -m)" = "Linux {machine}" ] || fail "the archive is for Linux on {machine}, this host is $(uname -s) on $(uname -m)"
mkdir -p "$to" && part=$(mktemp -d "$to/.tuibench.XXXXXX") || fail "$to cannot be written"
trap 'rm -rf "$part"' EXIT
trap 'exit 1' HUP INT TERM
tar -xzf - -C "$part" || fail "the archive was not unpacked into $to: is there room for 130 MiB?"
"$part/{folder}/bin/tuibench" --version >/dev/null || fail "it does not run here"
if [ -e "$to/{folder}" ]; then
    [ -x "$to/{folder}/libexec/python3" ] || fail "$to/{folder} is there, and is not from an archive: name another folder with --to"
    mv "$to/{folder}" "$part/old"
fi
mv "$part/{folder}" "$to/{folder}"
program=$to/{folder}/bin/tuibench
link={link}
if [ -n "$link" ]; then
    mkdir -p "$(dirname "$link")"
    if [ -h "$link" ] || [ ! -e "$link" ]; then ln -sf "$program" "$link"; else fail "$link is there, and is not a link: name another folder with --to"; fi
fi
echo "$program"
"""  # noqa: E501
HOME_FOLDER = '"${HOME:?has no value: name a folder with --to}/.local/lib"'
HOME_LINK = '"$HOME/.local/bin/tuibench"'


class Installed(NamedTuple):
    """What an installation on one host came to."""

    place: str
    program: str
    """The path of the program on the host; empty if it was not installed."""
    problem: str = ""


class Packed(NamedTuple):
    """An archive, compressed by what every host can read."""

    file: IO[bytes]
    size: int
    machine: str


@contextlib.contextmanager
def packed(archive: Path | None) -> Iterator[Packed]:
    """The archive that is sent: a file, otherwise the one that runs this command. Raises UsageError."""
    interpreter = Path(own_interpreter())
    if archive is None and not is_archive(interpreter):
        raise UsageError(
            "this tuibench does not run from an archive, which is what load hosts get",
            "name one: --archive=tuibench-VERSION-linux-x86_64.tar.xz (`make archive` builds it)",
        )
    with TemporaryFile() as file:
        try:
            if archive is None:
                machine = _pack_folder(interpreter.parents[1], file)
            else:
                machine = _pack_file(archive, file)
        except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "it ends too early"
            raise UsageError(f"{archive or interpreter}: cannot be read: {reason}") from error
        file.flush()
        yield Packed(file, file.tell(), machine)


def _pack_folder(folder: Path, file: IO[bytes]) -> str:
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        tar.add(folder, FOLDER)
    return _machine_of((folder / "libexec" / "python3").read_bytes(), folder)


def _pack_file(archive: Path, file: IO[bytes]) -> str:
    with lzma.open(archive) as plain:
        with tarfile.open(fileobj=plain) as tar:
            files = {one.name: one for one in tar.getmembers()}
            inside = files.get(INTERPRETER)
            is_ours = all(name.split("/")[0] == FOLDER for name in files)
            member = tar.extractfile(inside) if inside is not None and is_ours else None
            if member is None:
                raise UsageError(f"{archive} is not an archive of tuibench", "`make archive` builds one")
            machine = _machine_of(member.read(ELF_MACHINE.size), archive)
        plain.seek(0)
        with gzip.GzipFile("", "wb", 1, file, 0) as zipped:
            shutil.copyfileobj(plain, zipped, CHUNK_BYTES)
    return machine


def _machine_of(head: bytes, source: Path) -> str:
    magic, number = ELF_MACHINE.unpack_from(head.ljust(ELF_MACHINE.size, b"\0"))
    if magic != b"\x7fELF" or number not in MACHINES:
        raise UsageError(f"{source} has no interpreter for Linux", "`make archive` builds an archive")
    return MACHINES[number]


def script(machine: str, to: str) -> str:
    """What the host's shell does with the archive on its standard input; `to` is the folder, empty for the
    default one, to which `~/.local/bin/tuibench` then leads.
    """
    return INSTALL.format(
        to=shlex.quote(to) if to else HOME_FOLDER,
        link="" if to else HOME_LINK,
        machine=machine,
        folder=FOLDER,
    )


async def install(plan: ClusterPlan, archive: Packed, to: str) -> tuple[Installed, ...]:
    """Install on each host of a plan. Raises UsageError for a place that takes no shell."""
    carriers = [shell_carrier(place, script(archive.machine, to)) for place in plan.places]
    return tuple(await asyncio.gather(*(_install(carrier, archive) for carrier in carriers)))


async def _install(carrier: CommandCarrier, archive: Packed) -> Installed:
    try:
        wire = await carrier.open()
    except RunError as error:
        return Installed(carrier.place, "", error.message)
    try:
        answer = asyncio.create_task(_said(wire.reader))
        # A host that takes no more bytes has said why.
        with contextlib.suppress(ConnectionError):
            async for chunk in _chunks(archive):
                wire.writer.write(chunk)
                await wire.writer.drain()
            wire.writer.write_eof()
        lines = (await answer).splitlines()
        code = await wire.process.wait()
    finally:
        await wire.close()
    if lines and code == 0:
        return Installed(carrier.place, sanitize.text(lines[-1]))
    return Installed(carrier.place, "", wire.problem().removeprefix("tuibench: "))


async def _said(reader: asyncio.StreamReader) -> str:
    """The host's output up to its end; of too much, the beginning."""
    said = b""
    while chunk := await reader.read(CHUNK_BYTES):
        said = (said + chunk)[:SAID_BYTES]
    return said.decode(errors="replace")


async def _chunks(archive: Packed) -> AsyncIterator[bytes]:
    """The archive's bytes, for several hosts at once."""
    position = 0
    while data := await asyncio.to_thread(os.pread, archive.file.fileno(), CHUNK_BYTES, position):
        position += len(data)
        yield data
