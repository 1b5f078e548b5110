"""Hosts from a Dask scheduler, with a stand-in for the package: what is refused, what is carried."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tuibench.base.clock import SystemClock
from tuibench.base.errors import RunError, UsageError
from tuibench.features.cluster import carrier
from tuibench.features.cluster import host as sources
from tuibench.features.cluster.carrier import DaskScheduler, DaskWire, install_handler, serve_agent
from tuibench.features.cluster.host import CommandTiming, HostLink, find_carriers
from tuibench.model.cluster import ClusterPlan, check_address

SCHEDULER = "tls://scheduler:8786"
PLAN = ClusterPlan(places=(SCHEDULER,), lease_seconds=60.0)


class Stream:
    """One end of a stream of Dask's; `other` is the far one."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[Any] = asyncio.Queue()
        self.other: Stream
        self.is_closed = False

    @classmethod
    def pair(cls) -> "tuple[Stream, Stream]":
        near, far = cls(), cls()
        near.other, far.other = far, near
        return near, far

    async def write(self, message: Any) -> None:
        if self.is_closed:
            raise OSError("closed")
        self.other.arrived.put_nowait(message)

    async def read(self, **_: Any) -> Any:
        message = await self.arrived.get()
        if message is None:
            raise OSError("closed")
        return message

    def abort(self) -> None:
        for end in (self, self.other):
            end.is_closed = True
            end.arrived.put_nowait(None)

    def closed(self) -> bool:
        return self.is_closed


class PlayedDask(ModuleType):
    """The package, with a scheduler that has these workers; each of them answers like `answers`."""

    def __init__(self, *workers: str) -> None:
        super().__init__("distributed")
        self.workers = list(workers)
        self.answers: dict[str, Any] = {}
        self.handlers: dict[str, Any] = {}
        self.served: list[asyncio.Task[None]] = []
        self.given: dict[str, Any] = {}
        self.has_certificates = True
        self.security = SimpleNamespace(Security=self._security)
        self.comm = SimpleNamespace(connect=self._connect)
        self.protocol = SimpleNamespace(pickle=SimpleNamespace(dumps=lambda function: function))

    def _security(self, **given: Any) -> Any:
        self.given = given
        context = object() if self.has_certificates else None
        return SimpleNamespace(get_connection_args=lambda role: {"ssl_context": context})

    async def _connect(self, address: str, **_: Any) -> Stream:
        if "unreachable" in address:
            raise OSError("no route")
        near, far = Stream.pair()
        self.served.append(asyncio.create_task(self._serve(far)))
        return near

    async def _serve(self, far: Stream) -> None:
        message = await far.read()
        match message["op"]:
            case "identity":
                await far.write({"workers": {f"tls://{name}:1": {"name": name} for name in self.workers}})
            case "run":
                message["function"](SimpleNamespace(handlers=self.handlers))
                await far.write(self.answers.get("run", {"status": "OK"}))
            case operation:
                await self.handlers[operation](far)

    async def close(self) -> None:
        await asyncio.gather(*self.served)


@pytest.fixture
def dask(monkeypatch: pytest.MonkeyPatch) -> PlayedDask:
    played = PlayedDask("load1", "load2")
    monkeypatch.setattr(carrier, "_distributed", lambda: played)
    return played


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", SCHEDULER])
def test_tls_or_loopback_is_taken(address: str) -> None:
    check_address(address, PLAN)


def test_a_scheduler_without_tls_elsewhere_is_refused_unless_that_is_allowed() -> None:
    with pytest.raises(UsageError, match=r"can run programs on all of its hosts.*--cluster-insecure"):
        check_address("tcp://scheduler:8786", PLAN)
    check_address("tcp://scheduler:8786", replace(PLAN, insecure=True))


def test_a_certificate_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="--cluster-key: there is no file /nowhere/key"):
        check_address(SCHEDULER, replace(PLAN, key="/nowhere/key"))


async def test_tls_without_certificates_is_refused(dask: PlayedDask) -> None:
    dask.has_certificates = False
    with pytest.raises(UsageError, match=f"{SCHEDULER} needs certificates .*--cluster-ca"):
        DaskScheduler(SCHEDULER, PLAN)


async def test_without_the_package_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed.comm", None)
    with pytest.raises(UsageError, match=r"not installed \(pip install 'tuibench\[cluster\]'\)"):
        await find_carriers(PLAN, SystemClock())


async def test_workers_are_found_also_later_ones(dask: PlayedDask) -> None:
    both, discover = await find_carriers(PLAN, SystemClock())
    assert [carrier.name for carrier in both] == ["load1", "load2"]
    assert not any(carrier.is_permanent for carrier in both)
    assert both[0].place == "tls://load1:1"
    dask.workers.append("late")
    assert discover is not None
    assert [carrier.name for carrier in await discover()] == ["load1", "load2", "late"]
    await dask.close()


async def test_too_few_workers_are_reported(dask: PlayedDask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ENOUGH_SECONDS", 0.0)
    with pytest.raises(RunError, match=r"has 2 workers after 0 s, 5 are wanted .*--cluster-hosts"):
        await find_carriers(replace(PLAN, hosts=5), SystemClock())
    await dask.close()


async def test_a_scheduler_that_cannot_be_reached(dask: PlayedDask) -> None:
    plan = replace(PLAN, places=("tls://unreachable:1",))
    with pytest.raises(RunError, match=r"tls://unreachable:1 cannot be reached: no route .*certificate"):
        await find_carriers(plan, SystemClock())


async def test_a_worker_without_tuibench_is_reported_with_its_error(dask: PlayedDask) -> None:
    problem = "ModuleNotFoundError(\"No module named 'tuibench'\")"
    dask.answers["run"] = {"status": "error", "exception_text": problem}
    (carrier, _), _ = await find_carriers(PLAN, SystemClock())
    with pytest.raises(RunError, match=r"No module named 'tuibench'.*pip install"):
        await carrier.open()
    await dask.close()


async def test_a_real_agent_speaks_through_the_stream_and_ends_with_it(dask: PlayedDask) -> None:
    (carrier, _), _ = await find_carriers(PLAN, SystemClock())
    host = await HostLink.connect(carrier, PLAN, CommandTiming(SystemClock()))
    assert host.name == "host load1"
    assert host.offset.is_known
    await host.end()
    await dask.close()


async def test_a_stream_that_is_closed_is_the_end_of_the_host(dask: PlayedDask) -> None:
    near, far = Stream.pair()
    wire = await DaskWire.over(near)
    await far.write(b"abc")
    assert await wire.reader.readexactly(3) == b"abc"
    far.abort()
    assert await wire.reader.read() == b""
    assert wire.problem() == "its stream was closed"
    await wire.close()


async def test_an_agent_ends_when_its_stream_does() -> None:
    near, far = Stream.pair()
    serving = asyncio.create_task(serve_agent(far))
    assert b"tuibench agent speaks" in await near.read()
    near.abort()
    await serving


def test_the_handler_is_installed_once() -> None:
    worker = SimpleNamespace(handlers={})
    install_handler(worker)
    install_handler(worker)
    assert worker.handlers == {carrier.OPERATION: serve_agent}


def test_a_worker_is_called_by_its_name_or_its_host() -> None:
    scheduler: Any = None
    address = "tls://10.0.0.7:4321"
    named = [carrier.DaskCarrier(scheduler, address, name) for name in ("left", address, "")]
    assert [carrier.name for carrier in named] == ["left", "10.0.0.7", "10.0.0.7"]
