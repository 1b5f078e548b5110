"""Behind the start screen: checks the form, looks at the server, makes tables, starts the run.

Everything that takes its time goes on beside the screen, in a thread, and is undone when it is cancelled.
"""

import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tuibench.cli import recents, start_offers
from tuibench.cli.aside import aside
from tuibench.cli.background import GRACE_SECONDS, start_session
from tuibench.cli.run_options import RunOptions, profile_options, session_spec
from tuibench.cli.server_options import ServerOptions
from tuibench.clock import SystemClock
from tuibench.demo.server import PrivateServer
from tuibench.errors import RunError, ServerUnavailableError, TuibenchError, UsageError
from tuibench.load.prepare import prepare
from tuibench.load.prepare_check import check_free
from tuibench.load.prepare_load import Method, Progress
from tuibench.model.duration import seconds_in
from tuibench.model.finding import Finding, Severity
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.mysql.own import connect_own
from tuibench.session.preflight import diagnose
from tuibench.tui.start.backstage import Answers, Outlook, ProfileOffer, ServerOffer, Step, Tell
from tuibench.tuning.restore import leftovers
from tuibench.units import count
from tuibench.workload import library
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

T = TypeVar("T")
LOADING_CONNECTIONS = 4
DEFAULTS = Answers(database="sbtest", threads="8")


class StartBackstage:
    """The one that knows servers and profiles. `private` is the server it has made for the run, if it has."""

    def __init__(self) -> None:
        past = recents.recents()
        self._binary = start_offers.private_binary()
        self.servers: Sequence[ServerOffer] = start_offers.servers(past, self._binary)
        self.profiles: Sequence[ProfileOffer] = start_offers.profiles()
        self.first = self._first(past)
        self.private: PrivateServer | None = None

    def faults(self, answers: Answers) -> dict[str, str]:
        """What is wrong, by field; empty if a run could be made of it."""
        checks: dict[str, Callable[[Answers], object]] = {
            "place": self._server_checked,
            "threads": lambda given: RunOptions(threads=_whole(given.threads)).plan(given.profile, {}),
            "seconds": lambda given: RunOptions(time=_seconds(given.seconds)).plan(given.profile, {}),
            "database": _database_checked,
            "options": lambda given: _options_checked(given.profile, given.options),
        }
        return {name: reason for name, check in checks.items() if (reason := _fault(check, answers))}

    async def examine(self, answers: Answers) -> Outlook:
        """Looks at server, host and data; changes nothing."""
        return await aside(self._examined(answers))

    async def make(self, answers: Answers, tell: Tell) -> str:
        """Makes the tables, and their database if need be."""
        return await aside(_made(self.target(answers), _program(answers), tell))

    async def launch(self, answers: Answers, tell: Tell) -> Path:
        """Starts the run; the socket of its session."""
        socket = await aside(self._launched(answers, tell))
        recents.remember(_as_recent(answers, self._is_private(answers)))
        return socket

    def target(self, answers: Answers) -> Target:
        """The server meant; what the form does not say is taken from option files. Raises UsageError."""
        suffix = answers.server.removeprefix(start_offers.FILES)
        place = _place(answers.place)
        return ServerOptions(
            host=place.get("host"),
            port=place.get("port"),
            socket=place.get("socket"),
            user=answers.user or None,
            password=answers.password or None,
            database=answers.database.strip(),
            defaults_group_suffix=suffix if suffix != answers.server else "",
        ).target()

    async def _examined(self, answers: Answers) -> Outlook:
        target, plan, program = self.target(answers), _plan(answers), _program(answers)
        findings = await diagnose(target, plan, program, SystemClock())
        makeable = data_set(program).describe() if await _makeable(target, program) else ""
        return Outlook((*_left_over(), *findings), makeable)

    async def _launched(self, answers: Answers, tell: Tell) -> Path:
        plan = _plan(answers)
        if not self._is_private(answers):
            tell(Step("starting the run"))
            return await start_session(session_spec(plan, self.target(answers)), GRACE_SECONDS)
        tell(Step("starting a private server"))
        server = await PrivateServer.start()
        try:
            await _made(server.target, _program(answers), tell)
            tell(Step("starting the run"))
            spec = session_spec(plan, server.target, (server.watch_fd,))
            socket = await start_session(spec, GRACE_SECONDS, (server.watch_fd,))
        except BaseException:
            await server.stop()
            raise
        self.private = server
        return socket

    def _is_private(self, answers: Answers) -> bool:
        return answers.server == start_offers.PRIVATE

    def _server_checked(self, answers: Answers) -> None:
        if self._is_private(answers):
            if isinstance(self._binary, TuibenchError):
                raise self._binary
        elif not answers.place.strip():
            raise UsageError("a host, host:port, or the path of a socket")
        else:
            self.target(answers)

    def _first(self, past: tuple[recents.Recent, ...]) -> Answers:
        """The form as it was left, or a demonstration."""
        last = past[0] if past else recents.Recent()
        server = next(
            (offer for offer in self.servers if (offer.user, offer.place) == last.target), self.servers[0]
        )
        names = {offer.name for offer in self.profiles}
        profile = last.profile if last.profile in names else self.profiles[0].name
        return Answers(
            server=server.id,
            profile=profile,
            place=server.place,
            user=server.user,
            database=server.database or DEFAULTS.database,
            threads=last.threads or DEFAULTS.threads,
            seconds=last.seconds,
            options=last.options
            if last.profile == profile
            else next(offer.options for offer in self.profiles if offer.name == profile),
        )


def _left_over() -> tuple[Finding, ...]:
    """What a crashed session left changed, on whatever server."""
    return tuple(
        Finding(
            id="leftover",
            severity=Severity.WARNING,
            found=f"left changed by an earlier session: {leftover.text}",
            remedy="tuibench restore puts it back",
        )
        for leftover in leftovers()
    )


async def _made(target: Target, program: Program, tell: Tell) -> str:
    words = f"loading {data_set(program).describe()}"
    tell(Step(words))

    def progress(now: Progress) -> None:
        rate = f"{words}, {count(now.rows_per_second)} rows/s"
        tell(Step(rate, now.rows / now.total_rows if now.total_rows else None))

    method = Method(parallel=LOADING_CONNECTIONS)
    made = await prepare(target, program, method=method, progress=progress, create_database=True)
    return f"{made.tables} tables with {made.rows:,} rows in {made.seconds:.1f} s"


async def _makeable(target: Target, program: Program) -> bool:
    """True if none of the tables is there, or not even the database."""
    try:
        connection = await connect_own(target)
    except ServerUnavailableError:
        return True
    try:
        await check_free(connection, program)
    except RunError:
        return False
    finally:
        await connection.close()
    return True


def _plan(answers: Answers) -> Plan:
    options = RunOptions(threads=_whole(answers.threads), time=_seconds(answers.seconds))
    return options.plan(answers.profile, _options(answers))


def _program(answers: Answers) -> Program:
    return library.program(answers.profile, {**_options(answers), "threads": _whole(answers.threads)})


@lru_cache
def _options_fault(profile: str, options: str) -> TuibenchError | None:
    """Compiling a profile takes its time, and this is asked at every key."""
    try:
        library.program(profile, _read_options(options))
    except TuibenchError as error:
        return error
    return None


def _options_checked(profile: str, options: str) -> None:
    if fault := _options_fault(profile, options):
        raise fault


def _options(answers: Answers) -> dict[str, Any]:
    return _read_options(answers.options)


def _read_options(text: str) -> dict[str, Any]:
    try:
        return dict(profile_options(shlex.split(text)))
    except ValueError as error:
        raise UsageError(f"cannot be read: {error}".lower()) from error


def _place(text: str) -> dict[str, str]:
    """`host`, `host:port`, `[::1]:port` or a socket's path, as server options."""
    text = text.strip()
    if text.startswith("/") or not text:
        return {"socket": text} if text else {}
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return {"host": text.strip("[]")}
    return {"host": host.strip("[]"), "port": port}


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number") from None


def _seconds(text: str) -> float:
    """0 for no limit."""
    plain = text.strip()
    if not plain:
        return 0.0
    return float(plain) if plain.isdecimal() else seconds_in(plain)


def _database_checked(answers: Answers) -> None:
    if not answers.database.strip():
        raise UsageError("a name is needed")


def _fault(check: Callable[[Answers], object], answers: Answers) -> str:
    try:
        check(answers)
    except TuibenchError as error:
        return str(error).removeprefix("--threads ").removeprefix("--time ")
    return ""


def _as_recent(answers: Answers, is_private: bool) -> recents.Recent:
    return recents.Recent(
        place="" if is_private else answers.place,
        user="" if is_private else answers.user,
        database=answers.database,
        profile=answers.profile,
        options=answers.options,
        threads=answers.threads,
        seconds=answers.seconds,
    )
