"""Checks the hosts of a load before a run: separately, so that a failing host does not hide others."""

import asyncio

from msgspec.structs import replace

from tuibench import __version__
from tuibench.clock import NS_PER_MS, Clock
from tuibench.errors import TuibenchError
from tuibench.load.cluster.carrier import Carrier
from tuibench.load.cluster.host import CommandTiming, HostLink
from tuibench.load.cluster.machine import is_same_machine
from tuibench.load.cluster.messages import BEAT_SECONDS
from tuibench.load.cluster.reach import local_endpoint
from tuibench.load.cluster.sources import find_carriers
from tuibench.model.cluster.check import HostCheck
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.target import Target
from tuibench.session.load.hosts import MS_PER_SECOND

CLOCK_APART_MS = 1000.0
"""A larger clock offset makes logs of both hosts difficult to compare."""


async def check_hosts(plan: ClusterPlan, target: Target | None, clock: Clock) -> tuple[HostCheck, ...]:
    """The facts of each host, and whether it can reach the server; without a target only the facts."""
    carriers, _ = await find_carriers(plan, clock)
    return tuple(await asyncio.gather(*(_check(carrier, plan, target, clock) for carrier in carriers)))


async def _check(carrier: Carrier, plan: ClusterPlan, target: Target | None, clock: Clock) -> HostCheck:
    try:
        host = await HostLink.connect(carrier, plan, CommandTiming(clock))
    except TuibenchError as error:
        return HostCheck(name=carrier.place, problem=error.message, remedy=error.hint)
    beating = asyncio.create_task(_beat(host, clock))
    try:
        found = _of(host)
        return found if target is None else await _with_server(found, host, target)
    finally:
        beating.cancel()
        await host.end()


async def _beat(host: HostLink, clock: Clock) -> None:
    while True:
        host.beat()
        await clock.sleep(BEAT_SECONDS)


def _of(host: HostLink) -> HostCheck:
    hello, best = host.hello, host.offset.best
    offset_ms, error_ms = best.wall_offset_seconds * MS_PER_SECOND, best.round_trip_ns / 2 / NS_PER_MS
    notes = []
    if hello.version != __version__:
        notes.append(f"this host has version {__version__}: figures of different versions may differ")
    if abs(offset_ms) > CLOCK_APART_MS + error_ms:
        notes.append("its clock differs: this affects the comparison of logs, not the load; run NTP there")
    return HostCheck(
        name=host.label,
        version=hello.version,
        python=hello.python,
        cores=hello.cores,
        descriptors=hello.descriptors,
        native=hello.native,
        clock_offset_ms=offset_ms,
        clock_error_ms=error_ms,
        round_trip_ms=host.offset.recent_round_trip_ns / NS_PER_MS,
        notes=tuple(notes),
    )


async def _with_server(found: HostCheck, host: HostLink, target: Target) -> HostCheck:
    place = local_endpoint(target)
    if place and not is_same_machine(host.hello):
        problem = f"{place} is an address of this machine: {host.name} would not find the server there"
        return replace(found, problem=problem, remedy="give the server's name or address: --host=ADDRESS")
    try:
        reached = await host.try_server(target, target.connect_timeout + target.query_timeout)
    except TuibenchError as error:
        return replace(found, problem=error.message, remedy=error.hint)
    if reached.problem:
        return replace(found, problem=f"it cannot reach the server: {reached.problem}")
    return replace(found, server_ms=reached.seconds * MS_PER_SECOND)
