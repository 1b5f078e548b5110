"""The fleet of a run: workers on this host, or load hosts; totals of the hosts in the summary.

Refused before the load starts: a host that does not answer, or has another protocol version; a server address
that means another machine on that host; too few descriptors. Another version of tuibench is a warning.
"""

from typing import NamedTuple

from tuibench import __version__
from tuibench.clock import NS_PER_MS, NS_PER_SECOND, Clock
from tuibench.errors import UsageError
from tuibench.load.cluster.cluster import Cluster
from tuibench.load.cluster.host_fleet import HostFleet
from tuibench.load.cluster.sources import find_carriers
from tuibench.load.engine.choice import Chosen
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.worker_count import worker_count
from tuibench.model.cluster.host import HostTotals
from tuibench.model.plan import EngineChoice
from tuibench.model.server import ServerInfo
from tuibench.session.load.load_controller import LoadController
from tuibench.session.spec import SessionSpec
from tuibench.workload.program.program import Program

MS_PER_SECOND = 1000.0


class MadeFleet(NamedTuple):
    """The fleet of a run, the engine that all of its hosts have, and warnings about them."""

    fleet: Fleet
    engine: Chosen
    warnings: tuple[str, ...] = ()


async def make_fleet(
    spec: SessionSpec, program: Program, engine: Chosen, server: ServerInfo, clock: Clock
) -> MadeFleet:
    """The workers of this host, or the hosts of the plan, connected.

    Raises a TuibenchError that names the host that cannot take part.
    """
    plan, target = spec.plan, spec.target
    if plan.cluster is None:
        most = worker_count(plan, is_beside_server=server.is_local, is_native=engine.is_native)
        return MadeFleet(Fleet(plan, target, program, most, is_native=engine.is_native), engine)
    carriers, discover = await find_carriers(plan.cluster, clock)
    cluster = await Cluster.connect(plan.cluster, carriers, clock, discover)
    try:
        cluster.check_target(target)
        engine = _engine_of_all(cluster, plan.engine, engine)
        cluster.check_descriptors(plan.most_threads, plan.workers, is_native=engine.is_native)
    except BaseException:
        await cluster.close()
        raise
    fleet = HostFleet(plan, target, program, cluster, is_native=engine.is_native)
    return MadeFleet(fleet, engine, (*cluster.warnings, *cluster.version_warnings(__version__)))


def _engine_of_all(cluster: Cluster, wanted: EngineChoice, engine: Chosen) -> Chosen:
    """The native engine where all hosts have it. Raises UsageError if it is required and one has not."""
    lacking = cluster.without_native_engine() if engine.is_native else ""
    if not lacking:
        return engine
    if wanted is EngineChoice.NATIVE:
        raise UsageError(
            f"the native engine cannot run this load: {lacking} does not have tuibench-native",
            "install it there, or use --engine=auto",
        )
    return Chosen(is_native=False, reason=f"{lacking} does not have tuibench-native")


def host_totals(load: LoadController) -> tuple[HostTotals, ...]:
    """Totals of each host in the measured time; empty for a load from this host."""
    fleet, zero_ns = load.fleet, load.zero_ns
    if not isinstance(fleet, HostFleet) or zero_ns is None:
        return ()
    run, lost = load.accounting.run, {id(each.host): each.at_ns for each in fleet.all_lost}
    seconds = load.seconds or 1e-9
    totals = []
    for worker, host in fleet.host_of_worker.items():
        share, reading = run.share_of(worker), host.offset.best
        lost_ns = lost.get(id(host))
        totals.append(
            HostTotals(
                name=host.label,
                version=host.hello.version,
                cores=host.hello.cores,
                transactions=share.grown.completed,
                transactions_per_second=share.grown.completed / seconds,
                cpu_seconds=share.all_cpu_seconds,
                clock_offset_ms=reading.wall_offset_seconds * MS_PER_SECOND,
                clock_error_ms=reading.round_trip_ns / 2 / NS_PER_MS,
                late_commands_ms=host.late_commands_ms,
                lost_after_seconds=None if lost_ns is None else (lost_ns - zero_ns) / NS_PER_SECOND,
            )
        )
    return tuple(totals)
