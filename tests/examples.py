"""Plausible figures for tests that need all fields and care for few."""

from typing import Any

import msgspec

from tests.ticks import joined, load_tick
from tuibench.model.event import Event, EventKind
from tuibench.model.message import PROTOCOL_VERSION, Hello, RunState, Status
from tuibench.model.plan import RunPlan
from tuibench.model.server import Flavour, ServerInfo, Target
from tuibench.model.summary import (
    ClientTotals,
    ErrorTotals,
    Fairness,
    QueryTotals,
    Reconciliation,
    ServerTotals,
    Summary,
    TransactionTotals,
)
from tuibench.model.tick import Latency, Sample, Tick

PLAN = RunPlan(profile="oltp_read_write", threads=8)
SERVER = ServerInfo(
    flavour=Flavour.MARIADB,
    version="10.11.19",
    version_text="10.11.19-MariaDB",
    where="socket /run/s.sock",
    identity="box:3306:/data/",
    datadir="/data/",
    pid_file="/data/box.pid",
    socket="/run/s.sock",
    port=3306,
    is_local=True,
    uptime_seconds=100,
)
LATENCY = Latency(count=158, min=3.55, avg=153.08, p50=120.0, p95=590.56, p99=700.0, p999=789.0, max=789.19)
EVENT = Event(at=1_700_000_000.0, elapsed_seconds=0.0, kind=EventKind.START, text="oltp_read_write")

_LOAD: dict[str, Any] = {
    "threads": 8,
    "connections": 8,
    "transactions_per_second": 100.0,
    "queries_per_second": 2000.0,
    "reads_per_second": 1400.0,
    "writes_per_second": 400.0,
    "others_per_second": 200.0,
    "latency": LATENCY,
    "worker_cpu": 0.2,
    "lag_p99_ms": 0.1,
}
_SUMMARY = Summary(
    session="20260101-120000-oltp_read_write",
    profile="oltp_read_write",
    threads=8,
    seconds=3.0373,
    rate=0.0,
    percentiles={"95": 590.56},
    outcome="done",
    transactions=TransactionTotals(total=158, per_second=52.0),
    queries=QueryTotals(read=2240, write=635, other=318, total=3193, per_second=1050.77),
    errors=ErrorTotals(total=2, by_code={"1213": 2}),
    retries=2,
    reconnects=0,
    scheduled=158,
    failed=0,
    abandoned=0,
    latency_ms=LATENCY,
    service_ms=None,
    latency_sum_ms=24185.86,
    latency_histogram="",
    fairness=Fairness(events_avg=19.75, events_stddev=3.23, seconds_avg=3.0232, seconds_stddev=0.01),
    statements={},
    server=ServerTotals(version="10.11.19-MariaDB", flavour="MariaDB", deltas={}),
    reconciliation=Reconciliation(
        questions_client=3195,
        questions_server=3200,
        own=5,
        foreign=0,
        commits_client=158,
        commits_server=158,
    ),
    client=ClientTotals(workers=1, cpu_share=0.2, cpu_seconds=0.6, limited=False),
    events=(EVENT,),
    warnings=(),
)
_STATUS = Status(state=RunState.RUNNING, threads=8, workers=1, settings=(), presets=())
_HELLO = Hello(
    protocol=PROTOCOL_VERSION,
    version="1.2.3",
    session="20260101-120000-oltp_read_write",
    pid=4711,
    target=Target(user="app"),
    run_directory="/runs/20260101-120000-oltp_read_write",
    plan=PLAN,
    data_set="4 × 100,000 rows",
    server=SERVER,
    status=_STATUS,
    samples=(),
    events=(),
)


def load_part(**changes: Any) -> Tick:
    return load_tick(**(_LOAD | changes))


def load_sample(**changes: Any) -> Tick:
    """The load's figures as they are read from its tick."""
    return load_part(**changes)


def summary(**changes: Any) -> Summary:
    """The figures of tests/data/sysbench-summary.txt, changed."""
    return msgspec.structs.replace(_SUMMARY, **changes)


def status(**changes: Any) -> Status:
    return msgspec.structs.replace(_STATUS, **changes)


def hello(**changes: Any) -> Hello:
    return msgspec.structs.replace(_HELLO, **changes)


def sample(number: int = 1, *, elapsed_seconds: float | None = None, **changes: Any) -> Sample:
    """A sample of the parts `load`, `server`, `host`, `client_host` and `traffic`, with `host_note`; without
    any of them, of a load. Other changes are fields of the sample.
    """
    parts = {name: changes.pop(name) for name in PARTS if name in changes}
    parts.setdefault("load", load_part())
    made = Sample(
        number=number,
        at=1_700_000_000.0 + number,
        late_ms=0.1,
        tick=joined(float(number) if elapsed_seconds is None else elapsed_seconds, **parts),
        shows_traffic=parts.get("traffic") is not None,
    )
    return msgspec.structs.replace(made, **changes)


PARTS = ("load", "traffic", "server", "host", "client_host", "host_note")
SAMPLE = sample()
