"""Chooses the engine of a load, once it is known whether its connections use TLS: asyncio runs these."""

from typing import NamedTuple

from tuibench.errors import ServerUnavailableError, SQLError, UsageError
from tuibench.load.engine.native.program import unsupported_reason
from tuibench.model.plan import EngineChoice
from tuibench.model.target import Target
from tuibench.mysql.connection import connect
from tuibench.mysql.login.first_login import first_logins
from tuibench.workload.program.program import Program

TLS_REASON = "connections use TLS"


class Chosen(NamedTuple):
    """The engine of a load. `reason` explains why `auto` did not choose the native engine: a few words, then
    details after a colon.
    """

    is_native: bool
    reason: str = ""

    @property
    def name(self) -> str:
        return str(EngineChoice.NATIVE if self.is_native else EngineChoice.ASYNCIO)


async def choose(
    wanted: EngineChoice, program: Program, target: Target, *, reconnect: int = 0, users: int = 0
) -> Chosen:
    """Returns the native engine where it can run the load, after a login at each server; `reconnect` and
    `users` are those of the plan.

    Raises UsageError if it is required and cannot.
    """
    chosen = choose_before_login(wanted, program, reconnect=reconnect, users=users)
    return _checked(wanted, await _reason_of_tls(target)) if chosen.is_native else chosen


def choose_before_login(
    wanted: EngineChoice, program: Program, *, reconnect: int = 0, users: int = 0
) -> Chosen:
    """The same from what is known without a server."""
    if wanted is EngineChoice.ASYNCIO:
        return Chosen(False)
    return _checked(wanted, _reason_of_connections(reconnect, users) or unsupported_reason(program))


def _checked(wanted: EngineChoice, reason: str) -> Chosen:
    if reason and wanted is EngineChoice.NATIVE:
        raise UsageError(f"the native engine cannot run this load: {reason}", "use --engine=auto")
    return Chosen(not reason, reason)


def _reason_of_connections(reconnect: int, users: int) -> str:
    if reconnect:
        return "--reconnect runs on the asyncio engine"
    return "--users runs on the asyncio engine" if users else ""


async def _reason_of_tls(target: Target) -> str:
    """Logs in at each server where nobody has: the first login decides whether `preferred` encrypts."""
    for number in range(1 + len(target.further)):
        place = target.for_connection(number)
        if first_logins().of(place) is None:
            try:
                await (await connect(place, use_database=False)).close()
            except (ServerUnavailableError, SQLError) as error:
                return f"a server may use TLS: {error.message}"
        first = first_logins().of(place)
        if first is not None and first.is_encrypted:
            return f"{TLS_REASON}: --ssl-mode=disabled turns it off"
    return ""
