"""The choices of the start form, the meaning of its fields, and the runs that it starts.

The form offers a private server, servers from option files and on this host, and the servers of recent
starts. A start is stored with server and load, but without a password. Long operations run in a thread with
its own event loop, so that the screen stays responsive; they are undone when cancelled.
"""

import asyncio
import os
import shlex
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tuibench.base import paths
from tuibench.base.clock import SystemClock
from tuibench.base.errors import RunError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.units import count, duration, pluralize
from tuibench.cli.options import make_plan, parse_profile_options
from tuibench.cli.runner import new_session_spec, spec_on_private_server, start_session
from tuibench.cli.server_address import local_sockets, parse_place
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, parse_plan_words
from tuibench.features.start.screen import (
    FormValues,
    ProfileChoice,
    ProgressCallback,
    ServerCheck,
    ServerChoice,
)
from tuibench.load.tables import LoadOptions, LoadProgress, check_tables_absent, prepare_tables
from tuibench.model.findings import Finding, Severity
from tuibench.model.option import parse_duration
from tuibench.model.plan import GRACE_SECONDS, PLAN_COMMANDS, OptionValue, RunPlan
from tuibench.model.server import Target
from tuibench.mysql.info import connect_with_defaults
from tuibench.mysql.option_files import group_suffixes, server_sockets
from tuibench.servers import binaries
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.session.preflight import diagnose
from tuibench.tuning.restore import leftover_warnings
from tuibench.workload import library
from tuibench.workload.compiler import known_options
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

RECENTS_FILE = "recent.json"
MAX_RECENTS = 8


class RecentStart(msgspec.Struct, frozen=True, kw_only=True):
    """The typed values of a start, without the password."""

    place: str = ""
    user: str = ""
    database: str = ""
    profile: str = ""
    options: str = ""
    threads: str = ""
    seconds: str = ""
    at: float = 0.0
    """Unix time of the start."""

    @property
    def target(self) -> tuple[str, str]:
        return self.user, self.place


def load_recents() -> tuple[RecentStart, ...]:
    """Recent starts, newest first; empty if the file is missing or invalid."""
    try:
        return msgspec.json.decode(_recents_file().read_bytes(), type=tuple[RecentStart, ...])
    except (OSError, *DECODE_ERRORS):
        return ()


def save_recent(recent: RecentStart, now: float | None = None) -> None:
    """Store a start in place of an earlier one on the same server. Write errors are ignored, because the list
    is only a convenience.
    """
    stamped = msgspec.structs.replace(recent, at=time.time() if now is None else now)
    kept = [stamped, *(each for each in load_recents() if each.target != recent.target)][:MAX_RECENTS]
    try:
        folder = paths.ensure_private(paths.state_dir())
        new = folder / f"{RECENTS_FILE}.{os.getpid()}"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(kept), indent=2))
        new.replace(_recents_file())
    except OSError:
        return


def _recents_file() -> Path:
    return paths.state_dir() / RECENTS_FILE


PRIVATE_SERVER, OTHER_SERVER, FILES_PREFIX, RECENT_PREFIX = "private", "other", "files:", "recent:"
DEMO_TABLES = {"tables": 4, "table_size": 100_000}
"""Table sizes of a demonstration, for data sets with such options."""


BinaryOrError = Binary | TuibenchError
"""The server program for a private server, or the reason why there is none."""


def find_server_binary() -> BinaryOrError:
    """Find the first server program and query its version."""
    try:
        return binaries.find_binary()
    except TuibenchError as error:
        return error


def server_choices(recent: Sequence[RecentStart], private: BinaryOrError) -> list[ServerChoice]:
    """The private server first, then the known ones, then the entry for any other."""
    made = "removed when the run ends"
    detail = (
        str(private) if isinstance(private, TuibenchError) else f"{private.flavour} {private.version}, {made}"
    )
    offers = [
        ServerChoice(PRIVATE_SERVER, "Private demo server", detail, is_private=True),
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


def place_text(target: Target) -> str:
    """Address of a target, in the form's notation."""
    if target.socket:
        return target.socket
    return target.host if target.port == Target().port else target.at(target).where


def _discovered_choices() -> Iterator[ServerChoice]:
    """The servers in option files, one per group suffix, and the server that listens on this host."""
    for suffix in group_suffixes():
        try:
            target = ServerOptions(defaults_group_suffix=suffix).target(tell=lambda warning: None)
        except UsageError as error:
            yield ServerChoice(f"{FILES_PREFIX}{suffix}", f"[client{suffix}]", f"cannot be read: {error}")
            continue
        yield _server_choice(f"{FILES_PREFIX}{suffix}", target, f"option file, [client{suffix}]")
    for path in local_sockets(server_sockets)[:1]:
        target = ServerOptions(socket=path).target(tell=lambda warning: None)
        yield _server_choice(FILES_PREFIX, target, "listens on this host")


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


def _profile_choice(name: str) -> ProfileChoice | None:
    """The choice for a profile; None for an invalid file of the user, which `profiles check` explains."""
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


THREADS, TIME = (PLAN_COMMANDS["run"].options[key][1] for key in ("threads", "time"))


def is_private_server(answers: FormValues) -> bool:
    """True if the server is created for the run."""
    return answers.server == PRIVATE_SERVER


def form_errors(answers: FormValues) -> dict[str, str]:
    """Errors by field; empty if the form describes a valid run."""
    return {name: reason for name, check in FIELD_CHECKS.items() if (reason := _field_error(check, answers))}


def form_target(answers: FormValues) -> Target:
    """The target, with missing values from option files. Raises UsageError."""
    suffix = answers.server.removeprefix(FILES_PREFIX)
    place = _parse_place(answers.place)
    return ServerOptions(
        host=place.get("host"),
        port=place.get("port"),
        socket=place.get("socket"),
        user=answers.user or None,
        password=answers.password or None,
        database=answers.database.strip(),
        defaults_group_suffix=suffix if suffix != answers.server else "",
    ).target(tell=lambda warning: None)


def form_plan(answers: FormValues) -> RunPlan:
    """The run plan. Raises UsageError."""
    # Options of the load and of the profile; threads and time have fields of their own.
    load, options = _parse_options(answers.options)
    given = {key: load[key] for key in load.given} | {"time": _parse_seconds(answers.seconds)}
    load = PlanValues(load.command, given).replaced(threads=_parse_threads(answers.threads))
    return make_plan(load, answers.profile, options)


def form_program(answers: FormValues) -> Program:
    """The compiled profile with its options. Raises UsageError."""
    return library.load_program(answers.profile, form_plan(answers).profile_options)


@lru_cache
def _options_error(profile: str, options: str) -> TuibenchError | None:
    """The error in the options, if any. Cached, because it is called for every key, and compiling is slow."""
    try:
        load, of_profile = _parse_options(options)
        library.load_program(profile, make_plan(load, profile, of_profile).profile_options)
    except TuibenchError as error:
        return error
    return None


def _check_options(profile: str, options: str) -> None:
    if fault := _options_error(profile, options):
        raise fault


def _parse_options(text: str) -> tuple[PlanValues, dict[str, OptionValue]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot be read: {error}".lower()) from error
    load, rest = parse_plan_words("live", words)
    if own := load.given & {THREADS.key, TIME.key}:
        raise UsageError(f"leave out --{min(own)}: it has a field of its own")
    return load, parse_profile_options(rest)


def _parse_place(text: str) -> dict[str, str]:
    """Parse `host`, `host:port`, `[::1]:port` or a socket's path to server options."""
    text = text.strip()
    if text.startswith("/") or not text:
        return {"socket": text} if text else {}
    if "," in text:
        return {"host": text}
    place = parse_place(text, "the server")
    return {"host": place.host, **({"port": str(place.port)} if place.port else {})}


def _parse_threads(text: str) -> int:
    try:
        return int(THREADS.checked(int(text.replace(",", ""))) or 0)
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number") from None


def _parse_seconds(text: str) -> float | None:
    """Parse the duration; None for no limit."""
    plain = text.strip()
    return TIME.checked(float(plain) if plain.isdecimal() else parse_duration(plain)) if plain else None


def _check_place(answers: FormValues) -> None:
    if is_private_server(answers):
        return
    if not answers.place.strip():
        raise UsageError("a host, host:port, or the path of a socket")
    form_target(answers)


def _check_database(answers: FormValues) -> None:
    if not answers.database.strip():
        raise UsageError("a name is needed")


FIELD_CHECKS: dict[str, Callable[[FormValues], object]] = {
    "place": _check_place,
    "threads": lambda given: _parse_threads(given.threads),
    "seconds": lambda given: _parse_seconds(given.seconds),
    "database": _check_database,
    "options": lambda given: _check_options(given.profile, given.options),
}
"""Parsers by field; each raises UsageError for an invalid value."""


def _field_error(check: Callable[[FormValues], object], answers: FormValues) -> str:
    try:
        check(answers)
    except TuibenchError as error:
        return str(error).removeprefix("--threads ").removeprefix("--time ")
    return ""


T = TypeVar("T")


async def run_in_thread_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own event loop; returns its result.

    If cancelled, cancels the coroutine and waits for its cleanup.
    """
    here = asyncio.get_running_loop()
    done: asyncio.Future[T] = here.create_future()
    worker = _LoopThread(work, here, done)
    worker.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        worker.cancel()
        await asyncio.wait({done})
        done.exception()
        raise


class _LoopThread(threading.Thread):
    """Thread with an event loop for one coroutine."""

    def __init__(
        self, work: Coroutine[Any, Any, Any], home: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]"
    ) -> None:
        super().__init__(name="work beside the screen", daemon=True)
        self._work = work
        self._home = home
        self._done = done
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(work)

    def run(self) -> None:
        try:
            result = self._loop.run_until_complete(self._task)
        except BaseException as error:
            self._home.call_soon_threadsafe(self._fail, error)
        else:
            self._home.call_soon_threadsafe(self._succeed, result)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)

    def _succeed(self, result: Any) -> None:
        if not self._done.done():
            self._done.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._done.cancel()
        elif not self._done.done():
            self._done.set_exception(error)


LOADING_CONNECTIONS = 4
DEFAULT_VALUES = FormValues(database="sbtest", threads="8")


class CliStartController:
    """The `StartController` of the command line. `private` is the server created for the run, if any."""

    def __init__(self) -> None:
        recents = load_recents()
        self._binary = find_server_binary()
        self.servers: Sequence[ServerChoice] = server_choices(recents, self._binary)
        # All readable profiles, those for beginners first.
        names = library.available_profiles()
        first = [
            name for name in ("oltp_read_write", "oltp_read_only", "oltp_write_only", "tpcc") if name in names
        ]
        self.profiles: Sequence[ProfileChoice] = [
            offer
            for name in [*first, *(name for name in sorted(names) if name not in first)]
            if (offer := _profile_choice(name)) is not None
        ]
        # The options of the load that the form takes among those of the profile.
        options = PLAN_COMMANDS["live"].options.values()
        self.option_names: Sequence[str] = tuple(
            f"{each.name}=" for _, each in options if each not in (THREADS, TIME)
        )
        self.first = self._first(recents)
        self.private: PrivateServer | None = None

    def faults(self, answers: FormValues) -> dict[str, str]:
        """Errors by field; empty if the form describes a valid run."""
        if is_private_server(answers) and isinstance(self._binary, TuibenchError):
            return {"place": str(self._binary), **form_errors(answers)}
        return form_errors(answers)

    async def examine(self, answers: FormValues) -> ServerCheck:
        """Check server, host and data, without changes."""
        return await run_in_thread_loop(self._examined(answers))

    async def make(self, answers: FormValues, on_progress: ProgressCallback) -> str:
        """Create the tables, and their database if necessary."""
        return await run_in_thread_loop(
            _create_tables(form_target(answers), form_program(answers), on_progress)
        )

    async def launch(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        """Start the run; returns the socket of its session."""
        socket = await run_in_thread_loop(self._launched(answers, on_progress))
        save_recent(_to_recent(answers))
        return socket

    async def _examined(self, answers: FormValues) -> ServerCheck:
        target, plan, program = form_target(answers), form_plan(answers), form_program(answers)
        findings = await diagnose(target, plan, program, SystemClock())
        creatable = build_data_set(program).describe() if await _can_create_tables(target, program) else ""
        # Findings about settings that a crashed session left changed, on any server.
        leftover = (
            Finding(
                id="leftover",
                severity=Severity.WARNING,
                found=warning,
                remedy="tuibench restore restores it",
            )
            for warning in leftover_warnings()
        )
        return ServerCheck((*leftover, *findings), creatable)

    async def _launched(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        plan = form_plan(answers)
        if not is_private_server(answers):
            on_progress("starting the run", None)
            return await start_session(new_session_spec(plan, form_target(answers)), GRACE_SECONDS)
        on_progress("starting a private server", None)
        server = await PrivateServer.start()
        try:
            await _create_tables(server.target, form_program(answers), on_progress)
            on_progress("starting the run", None)
            spec = spec_on_private_server(plan, server)
            socket = await start_session(spec, GRACE_SECONDS)
        except BaseException:
            await server.stop()
            raise
        self.private = server
        return socket

    def _first(self, recents: tuple[RecentStart, ...]) -> FormValues:
        """Initial values: those of the last start, or of a demonstration."""
        last = recents[0] if recents else RecentStart()
        server = next(
            (offer for offer in self.servers if (offer.user, offer.place) == last.target), self.servers[0]
        )
        names = {offer.name for offer in self.profiles}
        profile = last.profile if last.profile in names else self.profiles[0].name
        return FormValues(
            server=server.id,
            profile=profile,
            place=server.place,
            user=server.user,
            database=server.database or DEFAULT_VALUES.database,
            threads=last.threads or DEFAULT_VALUES.threads,
            seconds=last.seconds,
            options=last.options
            if last.profile == profile
            else next(offer.options for offer in self.profiles if offer.name == profile),
        )


async def _create_tables(target: Target, program: Program, on_progress: ProgressCallback) -> str:
    words = f"loading {build_data_set(program).describe()}"
    on_progress(words, None)

    def progress(now: LoadProgress) -> None:
        rate = f"{words}, {count(now.rows_per_second)} rows/s"
        on_progress(rate, now.rows / now.total_rows if now.total_rows else None)

    method = LoadOptions(parallel=LOADING_CONNECTIONS)
    made = await prepare_tables(target, program, method=method, progress=progress, create_database=True)
    return f"{pluralize(made.tables, 'table')} with {pluralize(made.rows, 'row')} in {made.seconds:.1f} s"


async def _can_create_tables(target: Target, program: Program) -> bool:
    """True if no table exists, or not even the database."""
    try:
        connection = await connect_with_defaults(target)
    except ServerUnavailableError:
        return True
    try:
        await check_tables_absent(connection, program)
    except RunError:
        return False
    finally:
        await connection.close()
    return True


def _to_recent(answers: FormValues) -> RecentStart:
    return RecentStart(
        place="" if is_private_server(answers) else answers.place,
        user="" if is_private_server(answers) else answers.user,
        database=answers.database,
        profile=answers.profile,
        options=answers.options,
        threads=answers.threads,
        seconds=answers.seconds,
    )
