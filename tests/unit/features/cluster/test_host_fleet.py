"""Hosts that share a load, are lost, and come back, in virtual time."""

import pytest
from msgspec.structs import replace

from tests.unit.features.cluster.played import PLAN, PlayedHost, playing
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.errors import RunError
from tuibench.features.cluster.fleet import HostFleet
from tuibench.load.messages import Adjust, Reassign
from tuibench.model.cluster import ClusterPlan, HostState, OnHostLoss

ENDS_WITHIN = 5.0
"""Lease and grace."""


def two(clock: VirtualClock) -> list[PlayedHost]:
    return [PlayedHost("east", clock), PlayedHost("west", clock, ahead_seconds=1234.5)]


async def ticks(clock: VirtualClock, fleet: HostFleet, seconds: float) -> None:
    """Asks for reports every second."""
    for _ in range(round(seconds)):
        await clock.sleep(1)
        await fleet.report()


def numbers(hosts: list[PlayedHost]) -> list[tuple[int, ...]]:
    return [host.worker.numbers for host in hosts]


def test_hosts_share_connections_and_their_reports_add_up() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts) as fleet:
            assert numbers(hosts) == [(0, 2, 4, 6), (1, 3, 5, 7)]
            before = sum(report.counters.completed for report in await fleet.report())
            reports = await fleet.report()
            assert [report.worker for report in reports] == [0, 1]
            assert sum(report.counters.completed for report in reports) == before + 80
            assert sum(report.hist("response").count for report in reports) == 80
            assert fleet.pids == []
            names = [line.name for line in fleet.hosts]
            assert names == ["east", "west"]
        assert all(worker.has_ended_at is not None for host in hosts for worker in host.workers)

    in_no_time(scenario)


def test_all_hosts_switch_at_the_same_instant_however_far_they_are_and_whatever_their_clocks() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [
            PlayedHost("near", clock, delay=0.0002),
            PlayedHost("far", clock, delay=0.08, ahead_seconds=-77),
            PlayedHost("ahead", clock, delay=0.01, ahead_seconds=1e6),
        ]
        async with playing(clock, hosts) as fleet:
            await ticks(clock, fleet, 3)
            fleet.pause()
            await clock.sleep(1)
            fleet.resume()
            await clock.sleep(1)
            for paused in (True, False):
                instants = [host.worker.times_of(Adjust(paused=paused))[-1] for host in hosts]
                assert max(instants) - min(instants) < 0.001
            far = next(line for line in fleet.hosts if line.name == "far")
            assert abs(far.clock_offset_ms + 77_000) <= far.clock_error_ms + 1
            assert 75 < far.clock_error_ms < 90

    in_no_time(scenario)


def test_the_connections_of_a_lost_host_move_under_new_numbers_when_its_load_has_ended() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        hosts[1].is_reachable = True
        async with playing(clock, hosts) as fleet:
            hosts[1].is_reachable = False
            hosts[1].wire.cut()
            lost_at = clock.time()
            await ticks(clock, fleet, 2)
            (loss,) = fleet.losses
            assert loss.is_host
            assert loss.event.startswith(
                "host west was lost: Connection reset by peer; its load ends within 5 s"
            )
            assert loss.warning.startswith("incomplete: host west was lost")
            assert hosts[1].worker.has_ended_at is not None
            assert hosts[1].worker.has_ended_at - lost_at < 1
            assert numbers(hosts)[0] == (0, 2, 4, 6)
            assert [line.state for line in fleet.hosts] == [HostState.RUNNING, HostState.LOST]
            await fleet.set_threads(9)
            await clock.sleep(0.1)
            assert numbers(hosts)[0] == (0, 2, 4, 6, 8)
            await ticks(clock, fleet, 6)
            await clock.sleep(0.1)
            assert numbers(hosts)[0] == (0, 2, 4, 6, 8, 9, 10, 11, 12)

    in_no_time(scenario)


def test_the_load_ends_at_the_time_that_the_last_host_reports_not_at_its_receipt() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("near", clock), PlayedHost("far", clock, delay=0.2, ahead_seconds=-77)]
        async with playing(clock, hosts) as fleet:
            unfinished = fleet.ended_ns
            instant_ns = clock.now_ns() + fleet.cluster._timing.lead_ns
            await fleet.finish(0)
            ended_ns = fleet.ended_ns or 0
            assert unfinished is None
            assert abs(ended_ns - instant_ns) < 5_000_000
            assert clock.now_ns() - ended_ns > 150_000_000
            assert not fleet.unresponsive

    in_no_time(scenario)


def test_a_silent_host_holds_no_tick_for_long_and_is_lost_when_its_lease_and_grace_are_over() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts) as fleet:
            hosts[1].flows.clear()
            hosts[1].is_reachable = False
            frozen_at = clock.time()
            while not fleet.losses:
                began = clock.time()
                reports = await fleet.report()
                assert reports
                assert clock.time() - began < 2
                if fleet.overdue:
                    assert (fleet.silent, fleet.hosts[1].state) == (("host west",), HostState.SILENT)
                await clock.sleep(1)
            assert 5 < clock.time() - frozen_at < 8
            assert "no message from it for 5" in fleet.losses[0].event
            assert hosts[1].worker.has_ended_at is not None
            assert hosts[1].worker.has_ended_at - frozen_at < ENDS_WITHIN
            assert hosts[0].worker.has_ended_at is None

    in_no_time(scenario)


def test_a_host_that_comes_back_is_a_new_one_and_takes_its_share() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts) as fleet:
            hosts[1].wire.cut()
            await ticks(clock, fleet, 20)
            assert hosts[1].opened == 2
            assert sorted(len(each) for each in numbers(hosts)) == [4, 4]
            used = {number for host in hosts for worker in host.workers[:-1] for number in worker.numbers}
            assert not used & set(hosts[1].worker.numbers)
            assert [report.worker for report in await fleet.report()] == [0, 2]
            assert [line.state for line in fleet.hosts] == [HostState.RUNNING] * 2
            assert "host west has joined and takes 4 connections" in fleet.take_notices()

    in_no_time(scenario)


@pytest.mark.parametrize("policy", [OnHostLoss.STOP, OnHostLoss.CONTINUE])
def test_the_loss_of_a_host_ends_the_run_if_it_is_to_or_if_it_was_the_last(policy: OnHostLoss) -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        cluster = ClusterPlan(places=("east", "west"), on_host_loss=policy)
        async with playing(clock, hosts, cluster=cluster) as fleet:
            for host in hosts:
                host.is_reachable = False
            for host in hosts if policy is OnHostLoss.CONTINUE else hosts[:1]:
                host.wire.cut()
            await clock.sleep(0.1)
            words = "all hosts are lost" if policy is OnHostLoss.CONTINUE else "host east was lost"
            with pytest.raises(RunError, match=words):
                await fleet.report()

    in_no_time(scenario)


def test_the_rest_of_a_lost_hosts_quota_is_done_by_the_others() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts, replace(PLAN, events=10_000)) as fleet:
            await fleet.report()
            started = hosts[1].worker.started
            assert started is not None
            assert started.limit == 5_000
            hosts[1].wire.cut()
            await clock.sleep(0.1)
            await fleet.report()
            (held,) = fleet._held
            assert 4_000 < held.quota < 5_000
            await ticks(clock, fleet, 7)
            await clock.sleep(0.1)
            (given,) = [message for _, message in hosts[0].worker.told if isinstance(message, Reassign)]
            assert given.quota == held.quota

    in_no_time(scenario)


def test_the_hosts_of_a_session_that_falls_silent_end_their_load() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts) as fleet:
            for task in fleet.cluster._tasks:
                task.cancel()
            silent_at = clock.time()
            await clock.sleep(10)
            for host in hosts:
                ended_at = host.worker.has_ended_at
                assert ended_at is not None
                assert 2 < ended_at - silent_at < ENDS_WITHIN

    in_no_time(scenario)


def test_a_worker_that_is_silent_on_a_host_is_named_and_the_others_report() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = two(clock)
        async with playing(clock, hosts, replace(PLAN, workers=2)) as fleet:
            hosts[1].workers[0].is_silent_now = True
            await ticks(clock, fleet, 3)
            assert "worker process 4711 of host west" in fleet.silent
            assert len(await fleet.report()) == 2
            assert fleet.worker_count == 4

    in_no_time(scenario)
