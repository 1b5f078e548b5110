"""A small comparison of two server programs for tests: two tests, three starts each."""

import msgspec

from tests import sweeps
from tuibench.features.sweep.planning import cells_by_start
from tuibench.model.server import Flavour
from tuibench.model.sweep import (
    ServerBuild,
    ServerStart,
    Sweep,
    SweepCase,
    SweepPlan,
    SweepVariant,
    VersionsSetup,
)

OLD = ServerBuild(
    name="old",
    path="/opt/old/mysqld",
    flavour=Flavour.MYSQL,
    version="8.0.40",
    variables={"innodb_io_capacity": "200", "sync_binlog": "1", "version": "8.0.40", "only_old": "1"},
)
NEW = ServerBuild(
    name="new",
    path="/opt/new/mysqld",
    flavour=Flavour.MYSQL,
    version="8.4.3",
    variables={"innodb_io_capacity": "10000", "sync_binlog": "1", "version": "8.4.3"},
)
READS = SweepCase(
    name="oltp_read_only", profile="oltp_read_only", data="make 2 tables", size="2 × 10,000 rows"
)
WRITES = SweepCase(name="oltp_insert", profile="oltp_insert", data="make 2 tables", size="2 × 10,000 rows")
PLAN: SweepPlan = msgspec.structs.replace(
    sweeps.PLAN,
    cases=(READS, WRITES),
    variants=(SweepVariant(name="old"), SweepVariant(name="new")),
    threads=(4,),
    repeats=3,
    prepare=True,
)
SETUP = VersionsSetup(builds=(OLD, NEW), start_seconds=10.0)

TPS = {
    ("oltp_read_only", "old"): (1000.0, 1010.0, 990.0),
    ("oltp_read_only", "new"): (500.0, 510.0, 490.0),
    ("oltp_insert", "old"): (100.0, 110.0, 90.0),
    ("oltp_insert", "new"): (95.0, 118.0, 90.0),
}


def record(plan: SweepPlan = PLAN, setup: VersionsSetup = SETUP) -> Sweep:
    """A comparison of which nothing was measured yet."""
    return Sweep(record=msgspec.structs.replace(sweeps.record(plan), versions=setup))


def comparison(plan: SweepPlan = PLAN) -> Sweep:
    """All of it, measured."""
    cells = cells_by_start(plan)
    results = tuple(
        sweeps.result(cell, TPS[cell.case.name, cell.variant.name][cell.repeat - 1]) for cell in cells
    )
    starts = dict.fromkeys((cell.variant.name, cell.repeat) for cell in cells)
    return msgspec.structs.replace(
        record(plan),
        results=results,
        starts=tuple(
            ServerStart(build=build, start=start, started_at=0.0, seconds=8.0) for build, start in starts
        ),
    )
