"""A load from several hosts, as a session starts it and as its summary counts it."""

from tuibench import __version__
from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND, Clock
from tuibench.base.errors import UsageError
from tuibench.features.cluster.fleet import Cluster, HostFleet
from tuibench.features.cluster.host import find_carriers
from tuibench.load.fleet import Fleet
from tuibench.load.native_engine import Chosen
from tuibench.metrics.series import ratio
from tuibench.model.cluster import ClusterPlan, HostTotals
from tuibench.model.message import SessionSpec
from tuibench.model.plan import EngineChoice
from tuibench.session.load import MS_PER_SECOND, LoadController, LoadHosts
from tuibench.session.load_ticks import WorkerTotals
from tuibench.workload.program import Program


class ClusterHosts(LoadHosts):
    """The hosts of `--cluster`."""

    async def connect(
        self, hosts: ClusterPlan, spec: SessionSpec, program: Program, engine: Chosen, clock: Clock
    ) -> tuple[Fleet, Chosen, tuple[str, ...]]:
        plan, target = spec.plan, spec.target
        carriers, discover = await find_carriers(hosts, clock)
        cluster = await Cluster.connect(hosts, carriers, clock, discover)
        try:
            cluster.check_target(target)
            engine = _engine_of_all(cluster, plan.engine, engine)
            cluster.check_descriptors(plan.most_threads, plan.workers, is_native=engine.is_native)
        except BaseException:
            await cluster.close()
            raise
        fleet = HostFleet(plan, target, program, cluster, is_native=engine.is_native)
        return fleet, engine, (*cluster.warnings, *cluster.version_warnings(__version__))

    def totals(self, load: LoadController) -> tuple[HostTotals, ...]:
        fleet, zero_ns = load.fleet, load.zero_ns
        if not isinstance(fleet, HostFleet) or zero_ns is None:
            return ()
        lost = {id(each.host): each.at_ns for each in fleet.all_lost}
        totals = []
        for worker, host in fleet.host_of_worker.items():
            share, reading = load.reported.of_worker.get(worker, WorkerTotals()), host.offset.best
            lost_ns = lost.get(id(host))
            totals.append(
                HostTotals(
                    name=host.label,
                    version=host.hello.version,
                    cores=host.hello.cores,
                    transactions=share.transactions,
                    transactions_per_second=ratio(share.transactions, load.seconds) or 0.0,
                    cpu_seconds=share.cpu_seconds,
                    clock_offset_ms=reading.wall_offset_seconds * MS_PER_SECOND,
                    clock_error_ms=reading.round_trip_ns / 2 / NS_PER_MS,
                    late_commands_ms=host.late_commands_ms,
                    lost_after_seconds=None if lost_ns is None else (lost_ns - zero_ns) / NS_PER_SECOND,
                )
            )
        return tuple(totals)


HOSTS = ClusterHosts()


def _engine_of_all(cluster: Cluster, wanted: EngineChoice, engine: Chosen) -> Chosen:
    """The native engine if all hosts have it. Raises UsageError if it is required and a host lacks it."""
    lacking = cluster.without_native_engine() if engine.is_native else ""
    if not lacking:
        return engine
    if wanted is EngineChoice.NATIVE:
        raise UsageError(
            f"the native engine cannot run this load: {lacking} does not have it",
            "install it there, or use --engine=auto",
        )
    return Chosen(is_native=False, reason=f"{lacking} does not have the native engine")
