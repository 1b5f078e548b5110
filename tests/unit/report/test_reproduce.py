"""The commands that repeat a run: read back by our own command line, they make the same plan."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from tests.examples import PLAN
from tests.unit.cli.plans import planned
from tests.unit.record.steady import steady
from tuibench.cli.main import program as parser
from tuibench.cli.server_options import ServerOptions
from tuibench.metrics.figures import deciding_figure
from tuibench.model.callers import Backoff, Breaker, OnDeadline, QueueOrder
from tuibench.model.cluster import ClusterPlan
from tuibench.model.effect import AbTestPlan
from tuibench.model.event import Event, EventKind
from tuibench.model.hardware import Hardware
from tuibench.model.option import At, BoundOption
from tuibench.model.plan import PARTS, PLAN_COMMANDS, RunPlan, part_options
from tuibench.model.probe import MOST_DEADLINE_MS, ProbeOrder
from tuibench.model.schedule import ConstantStage, Quantity, RampStage, Schedule, first_level
from tuibench.model.server import Endpoint, Target
from tuibench.model.tune import TunePlan
from tuibench.record.reader import Run, load_run
from tuibench.report.reproduce import command_line, reproduction_commands

WITHOUT_OPTION = {
    "": {
        "profile",
        "options",
        "trial",
        "tune",
        "probe",
        "cluster",
        "is_watch",
        "hardware",
        "profile_text",
        "sql_words",
        "deviations",
    },
    "cluster": set[str](),
    "trial": {"a", "b", "is_sequential", "seed", "primary"},
    "tune": {"false_rate", "candidates_per_block", "primary", "seed"},
    "probe": set[str](),
}
"""Fields that are no option of a run: what is run, parts of the plan, what follows from other options, and
the hardware of a private server.
"""

steps = st.integers(1, 4000).map(lambda step: step / 8)
names = st.text("abcdefghijkl_0123456789", min_size=1, max_size=12)


def numbers(bound: BoundOption) -> st.SearchStrategy[Any]:
    """Numbers in the range of an option, on and off any grid; None if it means no limit."""
    low, high = bound.option.low, bound.option.high
    least = low or 1 if bound.is_optional else low
    found: st.SearchStrategy[Any] = (
        st.integers(int(least), int(high))
        if bound.kind is int
        else st.floats(max(least, 1e-3) if bound.is_optional else least, high)
    )
    return st.none() | found if bound.is_optional else found


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    def stage() -> ConstantStage | RampStage:
        quantity = draw(st.sampled_from(Quantity))
        level = st.integers(1, 999) if quantity is Quantity.THREADS else st.floats(0.5, 9999)
        seconds = draw(st.floats(0.1, 1e4))
        if draw(st.booleans()):
            return ConstantStage(quantity=quantity, level=float(draw(level)), seconds=seconds)
        first, last = float(draw(level)), float(draw(level))
        return RampStage(
            quantity=quantity, first=first, last=last, seconds=seconds, doubling=draw(st.booleans())
        )

    return tuple(stage() for _ in range(draw(st.integers(1, 3))))


SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "--plan": schedules(),
    "--percentile": st.lists(st.floats(0.01, 100), max_size=3).map(tuple),
    "--mysql-ignore-errors": st.none() | st.lists(st.integers(1, 9999), max_size=3).map(tuple),
    "--report-checkpoints": st.sets(st.integers(1, 9999), max_size=3).map(lambda few: tuple(sorted(few))),
    "--deadline": st.integers(0, 10**9).map(lambda nanos: nanos / 10**6),
    "--backoff": st.builds(
        Backoff, st.integers(0, 10**9).map(lambda nanos: nanos / 10**6), st.floats(1, 10), st.booleans()
    ),
    "--retry-budget": st.none() | st.floats(0, 1000),
    "--breaker": st.none() | st.builds(Breaker, st.floats(1, 100), st.floats(0.001, 3600)),
    "--client-delay": st.integers(0, 10**10).map(lambda nanos: nanos / 10**6),
    "--max-lag": st.floats(1e-3, 1e5),
    "--rand-seed": st.integers(1, 2**63 - 1),
    "--host-metrics": st.just("ssh:ann@db1"),
    "--replica": st.lists(st.sampled_from(["auto", "db2:3307", "/run/two.sock"]), unique=True).map(tuple),
    "--cluster": st.lists(names.map("ssh:{}".format), min_size=1, max_size=3, unique=True).map(tuple)
    | st.just(("exec:ssh -p 22 'a b' tuibench agent",)),
    "--figure": st.sampled_from(["", "tps", "p99", "cpu", "redo_bytes"]),
    "--budget": st.floats(20, 6e5),
    "--at": st.lists(st.builds(At, st.floats(0, 9e4), names), max_size=2).map(tuple),
    "--only": st.sampled_from([(), ("durability",), ("flushing", "innodb_io_capacity")]),
    "--slo": st.lists(st.sampled_from(["p95<20ms", "tps>500.5"]), unique=True).map(tuple),
    "--guard": st.lists(st.sampled_from(["p95<20ms", "tps>80.5%"]), unique=True).map(tuple),
    "--resume": st.just(""),
    "--max-time": steps.map(lambda seconds: 10 + seconds),
    "--until": st.floats(0.01, 50),
}


def values(bound: BoundOption) -> st.SearchStrategy[Any]:
    if bound.name in SPECIAL:
        return SPECIAL[bound.name]
    if bound.is_number:
        return numbers(bound)
    if bound.choices:
        return st.sampled_from([bound.parse(word) for word in bound.choices])
    return st.booleans() if bound.is_switch else names


def part(draw: st.DrawFn, name: str, command: str) -> dict[str, Any]:
    """Values of the fields of a part of the plan that the command has options for."""
    known = PLAN_COMMANDS[command].options
    found: dict[str, Any] = {}
    for bound in part_options(name):
        if bound.key in known and bound.field not in found and known[bound.key][0] == name:
            found[bound.field] = draw(values(bound))
    return found


TRIALS = st.sampled_from([("sync_binlog", "1", "0"), ("preset", "durable", "unsafe"), ("threads", "64", "7")])


@st.composite
def plans(draw: st.DrawFn) -> RunPlan:
    """Plans of every command with all of its options; what follows from other options does follow."""
    command = draw(st.sampled_from(["run", "live", "watch", "probe", "tune"]))
    own = part(draw, "", command)
    own["options"] = draw(st.dictionaries(names.map("x{}".format), names, max_size=2))
    if not own.get("replicas") or command == "watch":
        own["max_lag_seconds"] = 0.0
    plan = _with_possible_callers(RunPlan(profile="oltp_read_write", **own))
    if command == "probe":
        order = ProbeOrder(**part(draw, "probe", command))
        low, high = sorted(draw(st.tuples(st.integers(1, 999), st.integers(1, 999))))
        order = replace(order, least=float(low), most=draw(st.sampled_from([0.0, float(high)])))
        is_limited = 0 < plan.deadline_ms <= MOST_DEADLINE_MS
        recover = order.recover and order.by is Quantity.RATE and is_limited
        order = replace(order, recover=recover, remedies=order.remedies and recover)
        threads = low if order.by is Quantity.THREADS else plan.threads
        warmup = draw(steps)
        return replace(
            _with_cluster(draw, plan), probe=order, seconds=None, threads=threads, warmup_seconds=warmup
        )
    if command == "watch":
        plan = replace(plan, profile="watch", is_watch=True, threads=0, options={})
    else:
        plan = _with_cluster(draw, plan)
    if plan.users and (plan.rate or any(one.quantity is Quantity.RATE for one in plan.schedule)):
        plan = replace(plan, users=0)
    if command == "tune":
        return _with_tune(plan, part(draw, "tune", command))
    if draw(st.booleans()) and not plan.is_watch:
        plan = _scheduled(replace(plan, schedule=plan.schedule))
    else:
        plan = _tried(draw, replace(plan, schedule=()))
    if command == "live":
        plan = replace(plan, threads=0) if not plan.trial and not plan.schedule else plan
    return plan


def _with_possible_callers(plan: RunPlan) -> RunPlan:
    """Without what needs a deadline that the plan has not, or what its users exclude."""
    if plan.users or not plan.deadline_ms:
        plan = replace(plan, attempts=1, breaker=None)
    if not plan.deadline_ms:
        queue = QueueOrder.FIFO if plan.queue is QueueOrder.SHED else plan.queue
        plan = replace(plan, queue=queue, retry_budget=None, on_deadline=OnDeadline.LEAVE)
    return plan


def _with_cluster(draw: st.DrawFn, plan: RunPlan) -> RunPlan:
    is_far = draw(st.booleans())
    return replace(plan, cluster=ClusterPlan(**part(draw, "cluster", "run")) if is_far else None)


def _with_tune(plan: RunPlan, own: dict[str, Any]) -> RunPlan:
    primary = deciding_figure(plan.figure, is_traffic=False, rate=plan.rate)
    order = TunePlan(**own, seed=plan.seed, primary=primary.key)
    interval = max(0.1, min(plan.interval_seconds, order.window_seconds / 10))
    return replace(plan, tune=order, interval_seconds=interval, schedule=())


def _scheduled(plan: RunPlan) -> RunPlan:
    threads = first_level(plan.schedule, Quantity.THREADS)
    plan = replace(plan, threads=int(threads)) if threads else plan
    if plan.schedule and plan.schedule[0].quantity is Quantity.RATE:
        plan = replace(plan, rate=plan.schedule[0].levels[0])
    return plan


def _tried(draw: st.DrawFn, plan: RunPlan) -> RunPlan:
    """The plan with an A/B test, or without."""
    if not draw(st.booleans()):
        return plan
    subject, a, b = draw(TRIALS)
    own = part(draw, "trial", "run")
    window = plan.interval_seconds * draw(st.floats(4, 50))
    is_sequential = draw(st.booleans())
    trial = AbTestPlan(
        subject=subject,
        a=a,
        b=b,
        cycles=own["cycles"],
        window_seconds=window,
        seed=plan.seed,
        is_sequential=is_sequential,
        primary=deciding_figure(plan.figure, is_traffic=plan.is_watch, rate=plan.rate).key,
        **({"tolerance_percent": own["tolerance_percent"]} if is_sequential else {}),
    )
    threads = 64 if subject == "threads" else plan.threads
    return replace(plan, trial=trial, threads=threads, seconds=trial.seconds)


@given(plan=plans())
def test_a_plan_becomes_a_command_line_and_the_same_plan_again(plan: RunPlan) -> None:
    program, command, *words = shlex.split(command_line(plan, Target(user="ann")))
    assert program == "tuibench"
    known = parser().get_command(None, command)
    assert known is not None
    server = {
        name
        for each in known.params
        for name in each.opts
        if getattr(each, "rich_help_panel", "") == "Server"
    }
    own = {name for name in server if name.removeprefix("--").replace("-", "_") in Target.__struct_fields__}
    words = [word for word in words if word.partition("=")[0] not in own]
    profile = plan.profile if plan.is_watch else words.pop(0)
    assert planned(*words, command=command, profile=profile) == plan


def test_every_field_of_a_plan_has_an_option_or_a_reason_why_not() -> None:
    for name, kind in PARTS.items():
        declared = {bound.field for bound in part_options(name)}
        assert {each.name for each in fields(kind)} - declared == WITHOUT_OPTION[name]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return load_run(steady(tmp_path, "a"))


def of(run: Run, plan: RunPlan, **target: Any) -> Run:
    return replace(run, plan=replace(run.plan, plan=plan, target=Target(user="ann", **target)))


@pytest.mark.parametrize(
    "target",
    [
        Target(user="ann"),
        Target(host="db1", port=3307, user="ann", ssl_mode="verify-ca", ssl_ca="/a b.pem", net_timeout=7.5),
        Target(user="ann", socket="/tmp/my server.sock", database="shop"),
        Target(
            host="a",
            port=1,
            user="ann",
            failover=(Endpoint(host="b", port=1), Endpoint(host="::1", port=2), Endpoint(socket="/b.sock")),
        ),
        Target(
            host="a",
            port=1,
            user="ann",
            further=(
                Endpoint(host="a", port=2),
                Endpoint(host="b", port=1),
                Endpoint(host="b", port=2),
            ),
        ),
    ],
    ids=lambda target: str(target.where),
)
def test_the_line_has_the_server_and_the_login(target: Target) -> None:
    words = shlex.split(command_line(PLAN, target))[3:]
    names = {name.replace("_", "-"): name for name in Target.__struct_fields__}
    found = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
    own: dict[str, Any] = {names[name]: value for name, value in found.items() if name in names}
    for name in ("connect_timeout", "query_timeout", "net_timeout"):
        own |= {name: float(own[name])} if name in own else {}
    protocol = "tcp" if "host" in own else None
    given = ServerOptions(no_defaults=True, protocol=protocol, **own)
    assert replace(given.target(), login=()) == target


FULL = RunPlan(
    profile="oltp_read_write",
    options={"tables": 4, "table_size": 1000, "skip_trx": True},
    threads=16,
    rate=250.0,
    workers=2,
    percentiles=(50.5, 99.0),
    histogram=True,
    reconnect=3,
    isolation="read-committed",
    client_delay_ms=20.0,
)


def test_the_sysbench_command_has_the_options_that_sysbench_knows(run: Run) -> None:
    line = reproduction_commands(of(run, FULL, host="db1")).sysbench
    assert line is not None
    assert shlex.split(line)[:2] == ["sysbench", "oltp_read_write"]
    assert line.endswith(" run")
    for word in (
        "--mysql-host=db1",
        "--threads=16",
        "--rate=250",
        "--percentile=50",
        "--histogram=on",
        "--report-interval=1",
        "--skip-trx=on",
        '--mysql-password="$MYSQL_PWD"',
    ):
        assert word in line
    for word in ("--arrival", "--workers", "--client-delay", "--isolation", "--reconnect"):
        assert word not in line


def test_what_sysbench_has_no_test_of_is_ours_alone(run: Run) -> None:
    told = reproduction_commands(of(run, replace(PLAN, profile="tpcc"), socket="/tmp/my server.sock"))
    assert told.sysbench is None
    assert "'--socket=/tmp/my server.sock'" in told.tuibench
    assert (told.prepare or "").startswith("tuibench prepare tpcc ")


def test_adhoc_sql_is_shown_as_given(run: Run) -> None:
    words = ("--sql=SELECT :id", "--sql-param=id=1..9")
    told = reproduction_commands(of(run, replace(PLAN, profile="sql", sql_words=words), socket="/s"))
    assert told.tuibench.startswith("tuibench run '--sql=SELECT :id' --sql-param=id=1..9 --socket=/s ")
    assert (told.prepare, told.sysbench) == (None, None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (EventKind.THREADS, "threads 4 → 8"),
        (EventKind.RATE, "rate 100 → 250/s"),
        (EventKind.SETTING, "sync_binlog 1 → 0"),
        (EventKind.WEIGHTS, "weights: new 90 → 50, old 10 → 50"),
        (EventKind.DELAY, "client delay 0 → 2.5 ms"),
        (EventKind.HARDWARE, "disk fsync 0 → 2 ms"),
        (EventKind.PAUSE, "paused"),
        (EventKind.KILL, "connection 7 closed"),
    ],
)
def test_manual_changes_are_shown_with_their_time(run: Run, kind: EventKind, text: str) -> None:
    steered = Event(at=1.0, elapsed_seconds=65.0, kind=kind, text=text, marker=1)
    mark = Event(at=1.0, elapsed_seconds=66.0, kind=EventKind.MARK, text="coffee", marker=2)
    assert reproduction_commands(replace(run, events=(steered, mark))).by_hand == (f"after 01:05: {text}",)


def test_simulated_hardware_and_a_burst_are_not_repeated_and_said(run: Run) -> None:
    hardware = Hardware(delays_ms={"fsync": 2.0}, cpus=1.5)
    burst = Event(
        at=1.0, elapsed_seconds=30.0, kind=EventKind.RATE, text="burst ×3", marker=1, experiment="burst"
    )
    told = reproduction_commands(replace(of(run, replace(PLAN, hardware=hardware)), events=(burst,)))
    assert told.by_hand == ("from the start: simulated hardware fsync=2ms,cpus=1.5", "after 00:30: burst ×3")
    assert not reproduction_commands(of(run, replace(PLAN, hardware=Hardware()))).by_hand
    tested = replace(PLAN, trial=AbTestPlan(subject="threads", a="1", b="2"))
    assert not reproduction_commands(replace(of(run, tested), events=(burst,))).by_hand
