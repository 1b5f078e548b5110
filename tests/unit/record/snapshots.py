"""A moment of a session in which there is something to tell of everything."""

from msgspec.structs import replace

from tests import examples
from tests.ticks import host_tick, server_tick
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.model.settings import SettingState
from tuibench.model.tick import Histogram, Tick
from tuibench.record.prometheus import MetricsSnapshot, exported_counters

SERVER_PART = server_tick(
    uptime_seconds=3600,
    threads_running=5,
    threads_connected=12,
    max_connections=151,
    open_tables=40,
    table_open_cache=2000,
    questions_total=1000,
    slow_queries_total=3,
    buffer_pool_hit=99.5,
    counters={counter: 1000 + place for place, (counter, _) in enumerate(exported_counters())},
)
HOST_PART = host_tick(
    cores=2,
    cpu_total=90.0,
    cpu_server=60.0,
    cpu_tuibench=25.0,
    memory_used_bytes=2**30,
    memory_total_bytes=2**32,
    disk_read_bytes_per_second=0.0,
    disk_write_bytes_per_second=2.5e6,
    net_received_bytes_per_second=10.0,
    net_sent_bytes_per_second=20.0,
)
SETTING = SettingState(
    name="sync_binlog", value="0", original="1", meaning="the binary log is never flushed", at_risk=True
)
TOTALS = Tick(
    sums={
        "completed": 300,
        "failed": 2,
        "abandoned": 1,
        "retries": 7,
        "reconnects": 4,
        "reads": 4200,
        "writes": 1200,
        "others": 600,
        "error.99999": 1,
        "error.1213": 5,
    },
    hists={
        "trx.payment": Histogram.of([900, 20_000, 20_000]),
        "trx.new_order": Histogram.of([]),
        "service": Histogram.of([800]),
    },
)
SAMPLE = examples.sample(server=SERVER_PART, host=HOST_PART)
MOMENT = MetricsSnapshot(
    version="1.2.3",
    session="s1",
    plan=RunPlan(profile='a "quoted"\\profile'),
    where="db1:3306",
    server=examples.SERVER,
    started_at=1_700_000_000.0,
    status=examples.status(state=RunState.RUNNING, settings=(SETTING,), rate=200.0, client_delay_ms=20.0),
    totals=TOTALS,
    sample=SAMPLE,
    events={EventKind.SETTING: 2},
)
BEFORE_THE_FIRST_SAMPLE = replace(MOMENT, sample=None, totals=Tick(), events={})
