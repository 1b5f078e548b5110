"""Chooses the engine of a load."""

from typing import NamedTuple

from tuibench.errors import UsageError
from tuibench.load.engine.native.program import unsupported_reason
from tuibench.model.plan import EngineChoice
from tuibench.model.target import Target
from tuibench.workload.program.program import Program


class Chosen(NamedTuple):
    """The engine of a load. `reason` explains why `auto` did not choose the native engine."""

    is_native: bool
    reason: str = ""

    @property
    def name(self) -> str:
        return str(EngineChoice.NATIVE if self.is_native else EngineChoice.ASYNCIO)


def choose(
    wanted: EngineChoice, program: Program, target: Target, *, reconnect: int = 0, users: int = 0
) -> Chosen:
    """Returns the native engine where it can run the load; `reconnect` and `users` are those of the plan.

    Raises UsageError if it is required and cannot.
    """
    if wanted is EngineChoice.ASYNCIO:
        return Chosen(False)
    reason = _over_tls(target) or _of_connections(reconnect, users) or unsupported_reason(program)
    if reason and wanted is EngineChoice.NATIVE:
        raise UsageError(f"the native engine cannot run this load: {reason}", "use --engine=auto")
    return Chosen(not reason, reason)


def _of_connections(reconnect: int, users: int) -> str:
    if reconnect:
        return "--reconnect runs on the asyncio engine"
    return "--users runs on the asyncio engine" if users else ""


def _over_tls(target: Target) -> str:
    places = [target.for_connection(number) for number in range(1 + len(target.further))]
    is_preferred = target.ssl_mode == "preferred"
    if target.ssl_mode == "disabled" or (is_preferred and all(place.is_local for place in places)):
        return ""
    return "connections with TLS run on the asyncio engine (--ssl-mode=disabled turns TLS off)"
