"""Facts of a server on which all is well, to be changed by a test."""

from typing import Any

import msgspec

from tests import examples
from tuibench.model.server import HostConditions, ServerSession
from tuibench.tuning.catalogue import Grants
from tuibench.tuning.preflight import DataFacts, Facts, LoadRequirements, ServerFacts

GIB = 1 << 30
ALL = Grants(everywhere=frozenset({"ALL"}), database=frozenset(), partly=False, account="`app`@`localhost`")
VARIABLES = {
    "binlog_expire_logs_seconds": "60",
    "general_log": "OFF",
    "log_bin": "ON",
    "long_query_time": "10.000000",
    "max_connections": "151",
    "max_prepared_stmt_count": "16382",
    "max_user_connections": "0",
    "open_files_limit": "32000",
    "performance_schema": "OFF",
    "read_only": "OFF",
    "slow_query_log": "OFF",
    "table_definition_cache": "400",
    "table_open_cache": "2000",
    "wait_timeout": "28800",
}
DEMAND = LoadRequirements(
    threads=16, open_files=80, tables=4, statements=36, stems=("sbtest",), data_bytes=100_000_000
)
MACHINE = HostConditions(
    files_soft=1024,
    files_hard=20_000,
    swap_used_bytes=0,
    swap_total_bytes=GIB,
    disk_free_bytes=50 * GIB,
    disk_total_bytes=100 * GIB,
    governors=("performance",),
    clocksource="tsc",
    cores=4,
    load_average=0.2,
    busy_share=0.03,
    steal_share=0.0,
)
SERVER = ServerFacts(
    info=examples.SERVER,
    database="sbtest",
    variables=VARIABLES,
    status={"Prepared_stmt_count": 0, "Threads_connected": 3},
    grants=ALL,
    clients=(),
    clock_ahead_seconds=0.001,
)
READY = DataFacts(described="4 × 100,000 rows", ready=True, refusal="")


def facts(
    *,
    variables: dict[str, str] | None = None,
    server: dict[str, Any] | None = None,
    machine: dict[str, Any] | None = None,
    requirements: dict[str, Any] | None = None,
    data: DataFacts = READY,
    without: tuple[str, ...] = (),
) -> Facts:
    """Good facts with these changes; `without` names variables that the server does not tell."""
    known = {name: value for name, value in {**VARIABLES, **(variables or {})}.items() if name not in without}
    replace = msgspec.structs.replace
    return Facts(
        server=replace(SERVER, variables=known, **(server or {})),
        machine=replace(MACHINE, **(machine or {})),
        requirements=replace(DEMAND, **(requirements or {})),
        data=data,
    )


def client(**changes: Any) -> ServerSession:
    """Somebody at work in a database of his own."""
    made = ServerSession(
        id=9,
        user="shop",
        host="web1:4711",
        database="shop",
        command="Query",
        seconds=0,
        statement="UPDATE orders SET paid = 1",
    )
    return msgspec.structs.replace(made, **changes)


def grants(*everywhere: str, database: tuple[str, ...] = (), partly: bool = False) -> Grants:
    return Grants(
        everywhere=frozenset(everywhere),
        database=frozenset(database),
        partly=partly,
        account="`app`@`localhost`",
    )
