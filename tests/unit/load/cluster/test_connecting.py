"""Hosts that cannot take part are refused before the load begins, with name, reason and remedy."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.unit.load.cluster.played import HELLO, PlayedHost, playing
from tests.virtual import VirtualClock, in_no_time
from tuibench.errors import RunError, TuibenchError, UsageError
from tuibench.load.cluster.carrier import HostUnreachableError, Wire
from tuibench.load.cluster.cluster import Cluster
from tuibench.load.cluster.machine import agent_hello, is_same_machine
from tuibench.load.cluster.messages import MAGIC, PROTOCOL
from tuibench.load.cluster.reach import check_files, local_endpoint
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.target import Endpoint, Target

ORDER = ClusterPlan(places=("ssh:east",))


def connecting(
    prepare: Callable[[PlayedHost], None], check: Callable[[Cluster], None] = lambda _: None
) -> None:
    """Connects to a good host and to one that was prepared."""

    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("west", clock), PlayedHost("east", clock)]
        prepare(hosts[1])
        cluster = await Cluster.connect(ORDER, hosts, clock)
        try:
            check(cluster)
        finally:
            await cluster.close()

    in_no_time(scenario)


def test_another_protocol_is_refused_with_both_versions() -> None:
    def prepare(host: PlayedHost) -> None:
        host.hello = replace(HELLO, protocol=PROTOCOL + 1, version="9.9")

    with pytest.raises(
        UsageError, match=rf"host east runs tuibench 9.9, .* protocol {PROTOCOL + 1}; .* same version"
    ):
        connecting(prepare)


def test_another_version_is_a_warning() -> None:
    def check(cluster: Cluster) -> None:
        assert cluster.version_warnings("1") == (
            "host east has tuibench 2, this host has 1: figures of different versions may differ",
        )

    connecting(lambda host: setattr(host, "hello", replace(HELLO, version="2")), check)


def test_a_host_that_cannot_be_reached_ends_the_connections_to_the_others() -> None:
    with pytest.raises(RunError, match="host east runs no agent"):
        connecting(lambda host: setattr(host, "is_reachable", False))


def test_a_login_that_greets_for_ever_is_given_up() -> None:
    with pytest.raises(RunError, match=r"host east runs no agent: .*look after it"):
        connecting(lambda host: setattr(host, "greeting", b"Password: "))


def test_what_a_login_shell_prints_first_is_skipped() -> None:
    connecting(lambda host: setattr(host, "greeting", b"Last login: today\n\x00" + MAGIC))


def test_too_few_descriptors_are_refused_with_the_hosts_share() -> None:
    def prepare(host: PlayedHost) -> None:
        host.hello = replace(HELLO, descriptors=100, cores=1)

    def check(cluster: Cluster) -> None:
        cluster.check_descriptors(72, 1, is_native=False)
        cluster.check_descriptors(200, 3, is_native=False)
        cluster.check_descriptors(200, None, is_native=True)
        for threads, is_native in ((74, False), (38, True)):
            with pytest.raises(UsageError, match=r"host east may open 100 files .* share of .* --workers"):
                cluster.check_descriptors(threads, 1, is_native=is_native)

    connecting(prepare, check)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (Target(host="localhost"), "localhost:3306"),
        (Target(host="127.0.0.2", port=3307), "127.0.0.2:3307"),
        (Target(host="db", socket="/run/mysqld.sock"), "socket /run/mysqld.sock"),
        (Target(host="db", further=(Endpoint(host="::1"),)), "::1:3306"),
        (Target(host="db"), ""),
    ],
)
def test_an_address_of_this_machine_is_refused_for_hosts_elsewhere(target: Target, place: str) -> None:
    assert local_endpoint(target) == place

    def check(cluster: Cluster) -> None:
        if not place:
            cluster.check_target(target)
            return
        with pytest.raises(UsageError, match=r"would not find the server there .*--host=ADDRESS"):
            cluster.check_target(target)

    connecting(lambda host: None, check)


def test_it_is_taken_for_hosts_on_this_machine_and_in_its_network() -> None:
    here = agent_hello("1")
    assert is_same_machine(here) == bool(here.namespaces)
    assert not is_same_machine(replace(here, namespaces=(*here.namespaces[:1], "net:[1]", "mnt:[1]")))
    assert not is_same_machine(replace(here, namespaces=()))


def test_certificates_that_are_not_on_the_host_are_named() -> None:
    check_files(Target())
    with pytest.raises(UsageError, match=r"--ssl-ca: there is no file /nowhere/ca\.pem"):
        check_files(Target(ssl_ca="/nowhere/ca.pem"))


def test_a_host_without_a_certificate_ends_the_run_with_its_name() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("east", clock)]
        target = Target(host="db.example", ssl_key="/nowhere/key.pem")
        with pytest.raises(TuibenchError, match=r"host east: --ssl-key: there is no file /nowhere/key"):
            async with playing(clock, hosts, target=target):
                pytest.fail("it began")

    in_no_time(scenario)


def test_two_hosts_of_one_name_are_numbered() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("", clock), PlayedHost("", clock)]
        cluster = await Cluster.connect(ORDER, hosts, clock)
        assert [host.name for host in cluster.hosts] == ["host machine", "host machine (2)"]
        await cluster.close()

    in_no_time(scenario)


@pytest.mark.parametrize(
    ("wanted", "joined"), [(None, ["west", "spare"]), (2, ["west", "spare"]), (1, ["west"])]
)
def test_a_worker_that_hangs_is_left_out_where_others_are_enough(
    wanted: int | None, joined: list[str]
) -> None:
    async def scenario(clock: VirtualClock) -> None:
        cluster = await Cluster.connect(replace(ORDER, hosts=wanted), found_hosts(clock, "hung"), clock)
        assert [host.label for host in cluster.hosts] == joined
        assert cluster.warnings == (("a host is left out: hung hangs",) if wanted != 1 else ())
        await cluster.close()

    in_no_time(scenario)


@pytest.mark.parametrize(("wanted", "hung"), [(3, ("hung",)), (None, ("west", "hung", "spare"))])
def test_a_worker_that_hangs_is_an_error_where_it_is_needed(
    wanted: int | None, hung: tuple[str, ...]
) -> None:
    async def scenario(clock: VirtualClock) -> None:
        with pytest.raises(HostUnreachableError, match=f"{hung[0]} hangs"):
            await Cluster.connect(replace(ORDER, hosts=wanted), found_hosts(clock, *hung), clock)

    in_no_time(scenario)


class FoundHost(PlayedHost):
    """A host that a scheduler lists."""

    is_permanent = False
    hangs = False

    async def open(self) -> Wire:
        if self.hangs:
            raise HostUnreachableError(f"{self.name} hangs")
        return await super().open()


def found_hosts(clock: VirtualClock, *hung: str) -> list[FoundHost]:
    hosts = [FoundHost(name, clock) for name in ("west", "hung", "spare")]
    for host in hosts:
        host.hangs = host.name in hung
    return hosts
