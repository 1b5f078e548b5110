"""Servers and profiles offered by the start form: private, from option files, on this host, and recent ones.

Recent starts are stored with server and load, never with a password.
"""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from tuibench import files, paths
from tuibench.cli.options.server_options import DEFAULT_SOCKETS, ServerOptions
from tuibench.demo import binaries
from tuibench.demo.binaries import Binary
from tuibench.errors import TuibenchError, UsageError
from tuibench.files import DECODE_ERRORS
from tuibench.model.target import Target
from tuibench.mysql.option_files import DEFAULT_FILES, group_suffixes
from tuibench.tui.start.controller import ProfileChoice, ServerChoice
from tuibench.units import duration
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import known_options

RECENTS_FILE = "recent.json"
MAX_RECENTS = 8


class RecentStart(msgspec.Struct, frozen=True, kw_only=True):
    """Typed values of a start, and its wall clock time. There is no field for a password."""

    place: str = ""
    user: str = ""
    database: str = ""
    profile: str = ""
    options: str = ""
    threads: str = ""
    seconds: str = ""
    at: float = 0.0

    @property
    def target(self) -> tuple[str, str]:
        return self.user, self.place


def load_recents() -> tuple[RecentStart, ...]:
    """Recent starts, newest first; empty if the file is missing or invalid, as it is only a convenience."""
    try:
        return msgspec.json.decode(_recents_file().read_bytes(), type=tuple[RecentStart, ...])
    except (OSError, *DECODE_ERRORS):
        return ()


def save_recent(recent: RecentStart, now: float | None = None) -> None:
    """Store a start first, in place of an earlier one on the same server. Write errors are ignored."""
    stamped = msgspec.structs.replace(recent, at=time.time() if now is None else now)
    kept = [stamped, *(each for each in load_recents() if each.target != recent.target)][:MAX_RECENTS]
    try:
        _write_recents(kept)
    except OSError:
        return


def _write_recents(kept: Sequence[RecentStart]) -> None:
    folder = paths.ensure_private(paths.state_dir())
    new = folder / f"{RECENTS_FILE}.{os.getpid()}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(kept), indent=2))
    new.replace(_recents_file())


def _recents_file() -> Path:
    return paths.state_dir() / RECENTS_FILE


PRIVATE_SERVER, OTHER_SERVER, FILES_PREFIX, RECENT_PREFIX = "private", "other", "files:", "recent:"
DEMO_TABLES = {"tables": 4, "table_size": 100_000}
"""Table sizes of a demonstration, for data sets with such options."""


BinaryOrError = Binary | TuibenchError
"""Server program of a private server, or the reason why there is none."""


def find_server_binary() -> BinaryOrError:
    """Find the first server program and query its version."""
    try:
        return binaries.find_binary()
    except TuibenchError as error:
        return error


def server_choices(recent: Sequence[RecentStart], private: BinaryOrError) -> list[ServerChoice]:
    """The private server first, then the known ones, then the entry for any other."""
    offers = [
        _private_choice(private),
        *_discovered_choices(),
        *(_recent_choice(each) for each in recent if each.place),
    ]
    by_place: dict[tuple[str, str], ServerChoice] = {}
    for offer in offers:
        by_place.setdefault((offer.user, offer.place or offer.id), offer)
    return [
        *by_place.values(),
        ServerChoice(OTHER_SERVER, "Another server …", "a host, host:port, or a socket's path"),
    ]


def profile_choices() -> list[ProfileChoice]:
    """All readable profiles, those for beginners first."""
    return [
        offer
        for name in _beginner_first(library.available_profiles())
        if (offer := _profile_choice(name)) is not None
    ]


def place_text(target: Target) -> str:
    """Address of a target, in the form's notation."""
    if target.socket:
        return target.socket
    return target.host if target.port == Target().port else f"{target.host}:{target.port}"


def _private_choice(private: BinaryOrError) -> ServerChoice:
    made = "removed when the run ends"
    detail = (
        str(private) if isinstance(private, TuibenchError) else f"{private.flavour} {private.version}, {made}"
    )
    return ServerChoice(PRIVATE_SERVER, "Private demo server", detail, is_private=True)


def _discovered_choices() -> Iterator[ServerChoice]:
    """Servers in option files, by group suffix, and the one that listens on this host."""
    names = [name for name in DEFAULT_FILES if os.access(files.expand_path(name), os.R_OK)]
    for suffix in group_suffixes(names):
        try:
            target = ServerOptions(defaults_group_suffix=suffix).target(tell=lambda warning: None)
        except UsageError as error:
            yield ServerChoice(f"{FILES_PREFIX}{suffix}", f"[client{suffix}]", f"cannot be read: {error}")
            continue
        yield _server_choice(f"{FILES_PREFIX}{suffix}", target, f"option file, [client{suffix}]")
    for path in DEFAULT_SOCKETS:
        if os.path.exists(path):
            yield _server_choice(
                f"{FILES_PREFIX}",
                ServerOptions(socket=path).target(tell=lambda warning: None),
                "listens on this host",
            )
            return


def _server_choice(id: str, target: Target, detail: str) -> ServerChoice:
    place = place_text(target)
    return ServerChoice(
        id, f"{target.user}@{_shorten_place(place)}", detail, place, target.user, target.database
    )


def _recent_choice(recent: RecentStart) -> ServerChoice:
    ago = duration(max(0.0, time.time() - recent.at))
    label = f"{recent.user}@{_shorten_place(recent.place)}"
    return ServerChoice(
        f"{RECENT_PREFIX}{label}", label, f"used {ago} ago", recent.place, recent.user, recent.database
    )


def _shorten_place(place: str) -> str:
    """Shorten a socket path to its end."""
    return f"…{place[-16:]}" if place.startswith("/") and len(place) > 18 else place


def _beginner_first(names: Collection[str]) -> list[str]:
    first = [
        name for name in ("oltp_read_write", "oltp_read_only", "oltp_write_only", "tpcc") if name in names
    ]
    return [*first, *(name for name in sorted(names) if name not in first)]


def _profile_choice(name: str) -> ProfileChoice | None:
    """Choice for a profile; None for an invalid file of the user, which `profiles check` explains."""
    try:
        profile = library.load_profile(name)
    except UsageError:
        return None
    options = known_options(profile)
    wanted = " ".join(
        f"--{option.replace('_', '-')}={value}"
        for option, value in DEMO_TABLES.items()
        if set(DEMO_TABLES) <= set(options)
    )
    summary = profile.summary.removeprefix(f"sysbench's {name}: ")
    return ProfileChoice(name, summary, wanted)
