"""What the start screen offers: a private server, those of option files, this host's, those used last."""

import os
import time
from collections.abc import Collection, Iterator, Sequence

from tuibench import files
from tuibench.cli.recents import Recent
from tuibench.cli.server_options import DEFAULT_SOCKETS, ServerOptions
from tuibench.demo import binaries
from tuibench.demo.binaries import Binary
from tuibench.errors import TuibenchError, UsageError
from tuibench.model.target import Target
from tuibench.mysql.optionfile import DEFAULT_FILES, group_suffixes
from tuibench.tui.start.backstage import ProfileOffer, ServerOffer
from tuibench.units import duration
from tuibench.workload import library
from tuibench.workload.compile import known_options

PRIVATE, OTHER, FILES, RECENT = "private", "other", "files:", "recent:"
TABLES = {"tables": 4, "table_size": 100_000}
"""What a demonstration runs on, where the data set has such options."""


Private = Binary | TuibenchError
"""The program of a private server, or why there is none."""


def private_binary() -> Private:
    """Asks the first server program that is found for its version."""
    try:
        return binaries.find()
    except TuibenchError as error:
        return error


def servers(recent: Sequence[Recent], private: Private) -> list[ServerOffer]:
    """The private one first, then what is known, then any other."""
    offers = [_private(private), *_found(), *(_recent(each) for each in recent if each.place)]
    by_place: dict[tuple[str, str], ServerOffer] = {}
    for offer in offers:
        by_place.setdefault((offer.user, offer.place or offer.id), offer)
    return [
        *by_place.values(),
        ServerOffer(OTHER, "Another server …", "a host, host:port, or a socket's path"),
    ]


def profiles() -> list[ProfileOffer]:
    """All that can be read; those that are made for beginners first."""
    return [offer for name in _ordered(library.available()) if (offer := _profile(name)) is not None]


def place_of(target: Target) -> str:
    """Where a target is, as the form has it."""
    if target.socket:
        return target.socket
    return target.host if target.port == Target().port else f"{target.host}:{target.port}"


def _private(private: Private) -> ServerOffer:
    made = "made for this run and gone afterwards"
    detail = (
        str(private) if isinstance(private, TuibenchError) else f"{private.flavour} {private.version}, {made}"
    )
    return ServerOffer(PRIVATE, "Private demo server", detail, is_private=True)


def _found() -> Iterator[ServerOffer]:
    """What option files name, by their groups, and what listens on this host."""
    names = [name for name in DEFAULT_FILES if os.access(files.path(name), os.R_OK)]
    for suffix in group_suffixes(names):
        try:
            target = ServerOptions(defaults_group_suffix=suffix).target()
        except UsageError as error:
            yield ServerOffer(f"{FILES}{suffix}", f"[client{suffix}]", f"cannot be read: {error}")
            continue
        yield _offer(f"{FILES}{suffix}", target, f"option file, [client{suffix}]")
    for path in DEFAULT_SOCKETS:
        if os.path.exists(path):
            yield _offer(f"{FILES}", ServerOptions(socket=path).target(), "listens on this host")
            return


def _offer(id: str, target: Target, detail: str) -> ServerOffer:
    place = place_of(target)
    return ServerOffer(id, f"{target.user}@{_short(place)}", detail, place, target.user, target.database)


def _recent(recent: Recent) -> ServerOffer:
    ago = duration(max(0.0, time.time() - recent.at))
    label = f"{recent.user}@{_short(recent.place)}"
    return ServerOffer(
        f"{RECENT}{label}", label, f"used {ago} ago", recent.place, recent.user, recent.database
    )


def _short(place: str) -> str:
    """A socket by its end."""
    return f"…{place[-16:]}" if place.startswith("/") and len(place) > 18 else place


def _ordered(names: Collection[str]) -> list[str]:
    first = [
        name for name in ("oltp_read_write", "oltp_read_only", "oltp_write_only", "tpcc") if name in names
    ]
    return [*first, *(name for name in sorted(names) if name not in first)]


def _profile(name: str) -> ProfileOffer | None:
    """None for a file of the user's that is broken: `profiles check` says why."""
    try:
        profile = library.load(name)
    except UsageError:
        return None
    options = known_options(profile)
    wanted = " ".join(
        f"--{option.replace('_', '-')}={value}"
        for option, value in TABLES.items()
        if set(TABLES) <= set(options)
    )
    return ProfileOffer(name, profile.summary, wanted)
