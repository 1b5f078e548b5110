"""The look before a run: gathers the facts from server, host and data, and says what must be known.

    begin ──> (the workers start meanwhile) ──> finish

Two looks at the server, some time apart, tell whether others write on it while we do not.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from tuibench.clock import Clock
from tuibench.demo import layout
from tuibench.errors import DeniedError, RunError, ServerUnavailableError, SQLError, TuibenchError
from tuibench.load.prepare_check import check_allowed, check_ready
from tuibench.model.finding import Finding, Severity
from tuibench.model.machine import Machine
from tuibench.model.plan import Plan
from tuibench.model.server import ServerInfo
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import FORBIDDEN_BY_OPTION, AccessDeniedError
from tuibench.mysql.info import server_info
from tuibench.mysql.own import connect_own
from tuibench.observe.machine import machine
from tuibench.session.loading import most_workers
from tuibench.tuning.preflight import checks, production
from tuibench.tuning.preflight.demand import demand_of
from tuibench.tuning.preflight.facts import DataFacts, Facts
from tuibench.tuning.preflight.reader import look_again, read_server
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program

BETWEEN_LOOKS_SECONDS = 1.0
"""How long `doctor` watches whether others write."""


REFUSED = {"read_only": FORBIDDEN_BY_OPTION}
"""Findings that foresee the server's refusal, by its error."""


class Foreseen(NamedTuple):
    """What will not go as planned, and why the server looks like one that somebody lives on."""

    warnings: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


class Preflight:
    """One look before one run."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @classmethod
    async def begin(
        cls, connection: Connection, info: ServerInfo, plan: Plan, program: Program
    ) -> "Preflight":
        """The first look. Raises what makes the run impossible or wrong: tables, privileges, limits."""
        unused = await check_ready(connection, program)
        await check_allowed(connection, program)
        ready = DataFacts(described=data_set(program).describe(), ready=True, refusal="", unused=unused)
        preflight = cls(await gather(connection, info, plan, program, ready))
        for finding in checks.before_run(preflight._facts):
            if finding.severity is Severity.STOP:
                raise _refusal(finding)
        return preflight

    async def finish(self, connection: Connection) -> Foreseen:
        """The second look, and what the two have shown."""
        facts = await _watched(connection, self._facts)
        warnings = tuple(finding.text for finding in checks.before_run(facts))
        info = facts.server.info
        is_private = info.is_local and layout.is_private(info.datadir)
        return Foreseen(warnings, () if is_private else production.signs(facts))


async def look(
    target: Target, plan: Plan, program: Program, meanwhile: Callable[[ServerInfo], Awaitable[None]]
) -> tuple[ServerInfo, Foreseen]:
    """Who the server is and what a run on it must know; `meanwhile` fills the time between the two looks."""
    connection = await connect_own(target)
    try:
        info = await server_info(connection)
        preflight = await Preflight.begin(connection, info, plan, program)
        await meanwhile(info)
        return info, await preflight.finish(connection)
    finally:
        await connection.close()


async def diagnose(target: Target, plan: Plan, program: Program, clock: Clock) -> tuple[Finding, ...]:
    """All findings. Raises ServerUnavailableError when the server is away or does not let us in."""
    connection, missing = await _connect(target)
    try:
        info = await server_info(connection)
        data = await _data_facts(connection, program, missing)
        facts = await gather(connection, info, plan, program, data)
        await clock.sleep(BETWEEN_LOOKS_SECONDS)
        return checks.examine(await _watched(connection, facts))
    finally:
        await connection.close()


async def gather(
    connection: Connection, info: ServerInfo, plan: Plan, program: Program, data: DataFacts
) -> Facts:
    """All facts, after one look at the server."""
    return Facts(
        server=await read_server(connection, info),
        machine=await asyncio.to_thread(_machine, info),
        demand=demand_of(plan, program, most_workers(plan, is_local=info.is_local)),
        data=data,
    )


def _refusal(finding: Finding) -> TuibenchError:
    """What keeps a run from beginning; where the server would refuse the load, its own refusal."""
    if finding.id in REFUSED:
        return DeniedError(REFUSED[finding.id], finding.found, finding.remedy)
    return RunError(finding.found, finding.remedy)


def _machine(info: ServerInfo) -> Machine:
    return machine(info.datadir if info.is_local else "")


async def _watched(connection: Connection, facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, server=await look_again(connection, facts.server))


async def _connect(target: Target) -> tuple[Connection, TuibenchError | None]:
    """A connection, if need be without the database; then also what is wrong with that."""
    try:
        return await connect_own(target), None
    except ServerUnavailableError as error:
        try:
            return await connect_own(target, use_database=False), error
        except TuibenchError:
            raise error from None


async def _data_facts(connection: Connection, program: Program, missing: TuibenchError | None) -> DataFacts:
    described = data_set(program).describe()
    try:
        if missing is not None:
            raise missing
        unused = await check_ready(connection, program)
    except TuibenchError as error:
        remedy = "" if isinstance(error, AccessDeniedError) else error.hint
        return DataFacts(described=described, ready=False, problem=error.message, remedy=remedy)
    try:
        await check_allowed(connection, program)
    except SQLError as error:
        return DataFacts(described=described, ready=True, refusal=error.message, unused=unused)
    return DataFacts(described=described, ready=True, refusal="", unused=unused)
