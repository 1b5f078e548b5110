"""The preflight check: reads the facts of server, host and data, and reports problems.

    begin ──> (the workers start meanwhile) ──> finish

The server is read twice, some time apart: writes between the two readings are those of other clients.
"""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from tuibench.base.clock import Clock
from tuibench.base.errors import DeniedError, RunError, ServerUnavailableError, SQLError, TuibenchError
from tuibench.load.fleet import open_files_of_worker, worker_count
from tuibench.load.native_engine import choose
from tuibench.load.tables import (
    MissingTablesError,
    check_statements_allowed,
    check_tables_ready,
    connect_to_tables,
    database_hint,
)
from tuibench.model.findings import Finding, Severity, note, ok
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import FORBIDDEN_BY_OPTION, AccessDeniedError, NoDatabaseError
from tuibench.mysql.info import connect_with_defaults, server_info
from tuibench.observe.host_facts import CpuWatch, disk_facts, host_conditions, measure_disk
from tuibench.servers import process
from tuibench.tuning import preflight as checks
from tuibench.tuning.preflight import (
    DataFacts,
    Facts,
    ServerFacts,
    disk_findings,
    load_requirements,
    read_server,
    read_writes_again,
)
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

BETWEEN_LOOKS_SECONDS = 1.0
"""Minimum time between the two readings."""

REFUSED = {"read_only": FORBIDDEN_BY_OPTION}
"""Findings that predict a refusal by the server, with the error of the refusal."""


async def run_preflight(
    target: Target,
    plan: RunPlan,
    program: Program,
    meanwhile: Callable[[ServerInfo, RunPlan], Awaitable[None]],
) -> tuple[ServerInfo, tuple[str, ...], tuple[str, ...]]:
    """Identifies the server and checks the run; returns the server, the warnings of the run, and the signs of
    a production server.

    `meanwhile` runs between the two readings. It gets the plan as the server can execute it: without prepared
    statements if the server accepts none.

    Raises an error if tables, privileges or limits make the run impossible.
    """
    connection = await connect_to_tables(target, program)
    try:
        info = await server_info(connection)
        unused = await check_tables_ready(connection, program)
        text_only = await check_statements_allowed(connection, program) if plan.prepared else ""
        if text_only:
            plan = msgspec.structs.replace(plan, prepared=False)
        described = build_data_set(program).describe()
        ready = DataFacts(described=described, ready=True, refusal="", unused=unused, text_only=text_only)
        facts = await gather_facts(connection, info, target, plan, program, ready)
        for finding in checks.run_checks_before_run(facts):
            if finding.severity is Severity.STOP:
                raise _refusal(finding)
        await meanwhile(info, plan)
        facts = await _watched(connection, facts)
        warnings = tuple(finding.text for finding in checks.run_checks_before_run(facts))
        return info, warnings, _production_signs(facts.server, facts.requirements.stems)
    finally:
        await connection.close()


async def identify_server(target: Target, clock: Clock) -> tuple[ServerInfo, tuple[str, ...]]:
    """Identifies a server without load; returns the signs of a production server, too."""
    connection = await connect_with_defaults(target, use_database=False)
    try:
        info = await server_info(connection)
        facts = await read_server(connection, info)
        await clock.sleep(BETWEEN_LOOKS_SECONDS)
        return info, _production_signs(await read_writes_again(connection, facts), ())
    finally:
        await connection.close()


async def diagnose(
    target: Target, plan: RunPlan, program: Program, clock: Clock, *, disk: str | None = None
) -> tuple[Finding, ...]:
    """All findings. Raises ServerUnavailableError if the server cannot be reached or refuses the login.

    `disk` is a folder whose disk is measured, empty for the server's data directory, None for no measurement.
    """
    connection, missing = await _connect(target)
    try:
        info = await server_info(connection)
        data = await _data_facts(connection, plan, program, missing, target)
        facts = await gather_facts(connection, info, target, plan, program, data)
        cpu = CpuWatch()
        await clock.sleep(BETWEEN_LOOKS_SECONDS)
        if (shares := cpu.shares()) is not None:
            machine = msgspec.structs.replace(facts.machine, busy_share=shares[0], steal_share=shares[1])
            facts = msgspec.structs.replace(facts, machine=machine)
        found = checks.run_all_checks(await _watched(connection, facts))
        if plan.cluster is None:
            found = (*found, await _engine_finding(target, plan, program))
        return found + await asyncio.to_thread(_disk_findings, info, disk) if disk is not None else found
    finally:
        await connection.close()


async def gather_facts(
    connection: Connection, info: ServerInfo, target: Target, plan: RunPlan, program: Program, data: DataFacts
) -> Facts:
    """All facts, after the first reading of the server."""
    return Facts(
        server=await read_server(connection, info),
        machine=await asyncio.to_thread(host_conditions, info.datadir if info.is_local else ""),
        requirements=load_requirements(plan, program, await required_open_files(target, plan, program)),
        data=data,
    )


async def required_open_files(target: Target, plan: RunPlan, program: Program) -> int | None:
    """The open files of the worker with the most connections; None if load hosts open them."""
    if plan.cluster is not None:
        return None
    engine = await choose(plan.engine, program, target)
    workers = worker_count(plan, is_beside_server=target.is_local, is_native=engine.is_native)
    return open_files_of_worker(plan.most_threads, workers, is_native=engine.is_native)


async def _engine_finding(target: Target, plan: RunPlan, program: Program) -> Finding:
    """The engine of the load; if it is not the native one, why, and how to get that."""
    engine = await choose(plan.engine, program, target)
    if not engine.reason:
        return ok("engine", engine.name)
    why, _, remedy = engine.reason.partition(": ")
    return note("engine", f"{engine.name}: {why}", remedy)


def _disk_findings(info: ServerInfo, folder: str) -> tuple[Finding, ...]:
    """Measures the disk, for about seven seconds."""
    if not folder and not info.is_local:
        return (note("disk_flush", "the server's disk cannot be measured from another host", "run it there"),)
    place = folder or info.datadir
    try:
        speed = measure_disk(place)
    except RunError as error:
        return (note("disk_flush", error.message, error.hint),)
    return disk_findings(disk_facts(place), speed)


def _production_signs(server: ServerFacts, stems: tuple[str, ...]) -> tuple[str, ...]:
    is_private = server.info.is_local and process.is_private_server(server.info.datadir)
    return () if is_private else checks.production_signs(server, stems)


def _refusal(finding: Finding) -> TuibenchError:
    """The error that stops a run: the server's own error if the server would refuse the load."""
    if finding.id in REFUSED:
        return DeniedError(REFUSED[finding.id], finding.found, finding.remedy)
    return RunError(finding.found, finding.remedy)


async def _watched(connection: Connection, facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, server=await read_writes_again(connection, facts.server))


async def _connect(target: Target) -> tuple[Connection, TuibenchError | None]:
    """A connection, with an error if it is one without the database because that cannot be used."""
    try:
        return await connect_with_defaults(target), None
    except ServerUnavailableError as error:
        try:
            return await connect_with_defaults(target, use_database=False), error
        except TuibenchError:
            raise error from None


async def _data_facts(
    connection: Connection, plan: RunPlan, program: Program, missing: TuibenchError | None, target: Target
) -> DataFacts:
    described = build_data_set(program).describe()
    try:
        if isinstance(missing, NoDatabaseError):
            missing.hint = database_hint(program, target)
        if missing is not None:
            raise missing
        unused = await check_tables_ready(connection, program)
    except TuibenchError as error:
        remedy = "" if isinstance(error, AccessDeniedError) else error.hint
        return DataFacts(
            described=described,
            ready=False,
            is_creatable=isinstance(error, MissingTablesError | NoDatabaseError),
            problem=error.message,
            remedy=remedy,
        )
    try:
        text_only = await check_statements_allowed(connection, program) if plan.prepared else ""
    except SQLError as error:
        return DataFacts(described=described, ready=True, refusal=error.full_message, unused=unused)
    return DataFacts(described=described, ready=True, refusal="", unused=unused, text_only=text_only)
