"""Behind the start screen: looks at the server, makes tables, starts the run.

Everything that takes its time goes on beside the screen, in a thread, and is undone when it is cancelled.
"""

from collections.abc import Sequence
from pathlib import Path

from tuibench.cli import recents, start_offers
from tuibench.cli.aside import aside
from tuibench.cli.background import GRACE_SECONDS, start_session
from tuibench.cli.spec import session_spec
from tuibench.cli.start_form import faults, is_private, plan_of, program_of, target_of
from tuibench.clock import SystemClock
from tuibench.demo.server import PrivateServer
from tuibench.errors import RunError, ServerUnavailableError, TuibenchError
from tuibench.load.prepare import prepare
from tuibench.load.prepare_check import check_free
from tuibench.load.prepare_load import Method, Progress
from tuibench.model.finding import Finding, Severity
from tuibench.model.target import Target
from tuibench.mysql.own import connect_own
from tuibench.session.preflight import diagnose
from tuibench.tui.start.backstage import Answers, Outlook, ProfileOffer, ServerOffer, Step, Tell
from tuibench.tuning.restore import leftovers
from tuibench.units import count
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

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
        if is_private(answers) and isinstance(self._binary, TuibenchError):
            return {"place": str(self._binary), **faults(answers)}
        return faults(answers)

    async def examine(self, answers: Answers) -> Outlook:
        """Looks at server, host and data; changes nothing."""
        return await aside(self._examined(answers))

    async def make(self, answers: Answers, tell: Tell) -> str:
        """Makes the tables, and their database if need be."""
        return await aside(_made(target_of(answers), program_of(answers), tell))

    async def launch(self, answers: Answers, tell: Tell) -> Path:
        """Starts the run; the socket of its session."""
        socket = await aside(self._launched(answers, tell))
        recents.remember(_as_recent(answers))
        return socket

    async def _examined(self, answers: Answers) -> Outlook:
        target, plan, program = target_of(answers), plan_of(answers), program_of(answers)
        findings = await diagnose(target, plan, program, SystemClock())
        makeable = data_set(program).describe() if await _makeable(target, program) else ""
        return Outlook((*_left_over(), *findings), makeable)

    async def _launched(self, answers: Answers, tell: Tell) -> Path:
        plan = plan_of(answers)
        if not is_private(answers):
            tell(Step("starting the run"))
            return await start_session(session_spec(plan, target_of(answers)), GRACE_SECONDS)
        tell(Step("starting a private server"))
        server = await PrivateServer.start()
        try:
            await _made(server.target, program_of(answers), tell)
            tell(Step("starting the run"))
            spec = session_spec(plan, server.target, (server.watch_fd,))
            socket = await start_session(spec, GRACE_SECONDS, (server.watch_fd,))
        except BaseException:
            await server.stop()
            raise
        self.private = server
        return socket

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
            found=leftover.warning,
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


def _as_recent(answers: Answers) -> recents.Recent:
    return recents.Recent(
        place="" if is_private(answers) else answers.place,
        user="" if is_private(answers) else answers.user,
        database=answers.database,
        profile=answers.profile,
        options=answers.options,
        threads=answers.threads,
        seconds=answers.seconds,
    )
