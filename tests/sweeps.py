"""A small sweep for tests: one case, durable and unsafe, 4 and 8 threads, two runs each."""

from typing import Any

import msgspec

from tests import examples
from tuibench.features.sweep.planning import all_cells
from tuibench.model.server import Environment, HostFacts, RoundTrip
from tuibench.model.sweep import (
    Cell,
    CellOrder,
    CellResult,
    DataReady,
    Sweep,
    SweepCase,
    SweepEnvironment,
    SweepPlan,
    SweepRecord,
    SweepVariant,
)

CASE = SweepCase(
    name="oltp_write_only",
    profile="oltp_write_only",
    options={"tables": "2"},
    data="make 2 tables",
    size="2 × 10,000 rows",
)
DURABLE = SweepVariant(name="durable 1/1", preset="durable")
UNSAFE = SweepVariant(name="unsafe 0/0", preset="unsafe")
PLAN = SweepPlan(
    cases=(CASE,),
    variants=(DURABLE, UNSAFE),
    threads=(4, 8),
    repeats=2,
    order=CellOrder.INTERLEAVED,
    base=msgspec.structs.replace(examples.PLAN, seconds=5.0, warmup_seconds=1.0, seed=7),
)

ENVIRONMENT = Environment(
    tuibench="1.0",
    location="remote",
    host=HostFacts(),
    round_trip=RoundTrip(tries=20, min_ms=0.1, median_ms=0.12, max_ms=0.2),
    variables={"log_bin": "ON"},
)


def record(plan: SweepPlan = PLAN, **server: Any) -> SweepRecord:
    return SweepRecord(
        name="sweep-1",
        started_at=1_700_000_000.0,
        plan=plan,
        target=msgspec.convert({"host": "db1", "user": "app"}, type(examples.hello().target)),
        surroundings=SweepEnvironment(
            server=msgspec.structs.replace(examples.SERVER, **server), environment=ENVIRONMENT
        ),
    )


def result(cell: Cell, tps: float = 100.0, **changes: Any) -> CellResult:
    figures = {
        "headline": tps,
        "tps": tps,
        "qps": 6 * tps,
        "avg_ms": 1.5,
        "p95_ms": 3.25,
        "errors": 1.0,
        "retries": 0.0,
        "slow_queries": 2.0,
        "open_tables": 25.0,
        "questions_per_second": 6 * tps + 3,
        "cpu_server": 40.0,
        "cpu_tuibench": 10.0,
        "cpu_total": 60.0,
        "memory_server_bytes": 256.0 * 2**20,
    }
    done = CellResult(
        cell=cell,
        outcome="done",
        figures=figures,
        seconds=8.0,
        run=f"cells/{cell.number:03d}",
        cores=2,
        memory_total_bytes=8 * 2**30,
    )
    return msgspec.structs.replace(done, **changes)


def costing(done: CellResult, **costs: float) -> CellResult:
    """The result with the cost of a transaction; a query costs a twentieth."""
    per_transaction = {f"{name}_per_transaction": value for name, value in costs.items()}
    per_query = {f"{name}_per_query": value / 20 for name, value in costs.items()}
    return msgspec.structs.replace(done, figures=done.figures | per_transaction | per_query)


def failed(cell: Cell, why: str = "the server went away") -> CellResult:
    return CellResult(cell=cell, outcome="failed", failure=why)


TPS = {("durable 1/1", 4): (90.0, 110.0), ("durable 1/1", 8): (190.0, 190.0),
       ("unsafe 0/0", 4): (1000.0, 1010.0), ("unsafe 0/0", 8): (380.0, 380.0)}  # fmt: skip


def sweep(plan: SweepPlan = PLAN, factor: float = 1.0, **server: Any) -> Sweep:
    """The whole of it, measured; `factor` times as fast as another server."""
    results = tuple(
        result(cell, factor * TPS[cell.variant.name, cell.threads][cell.repeat - 1])
        for cell in all_cells(plan)
    )
    return Sweep(
        record=record(plan, **server),
        results=results,
        data=(DataReady(data=CASE.data, files_bytes=5 * 2**20),),
    )
