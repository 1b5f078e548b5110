"""What steering acts on: the hands of a session, each by what it can do and how it answers."""

from collections.abc import Mapping
from typing import Protocol

from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity, Schedule


class SettingsHand(Protocol):
    """Changes settings; answers from what to what."""

    async def change(self, name: str, value: str) -> str: ...

    async def apply(self, preset: str) -> str: ...

    async def put_back(self, names: tuple[str, ...]) -> tuple[str, ...]: ...


class SteeredLoad(Protocol):
    """How hard the load works."""

    threads: int
    rate: float
    client_delay_ms: float
    most_let_in: int | None

    @property
    def weights(self) -> dict[str, float]: ...

    async def set_threads(self, threads: int) -> None: ...

    def set_rate(self, rate_per_second: float) -> None: ...

    def set_weights(self, given: Mapping[str, float]) -> None: ...

    def set_delay(self, milliseconds: float) -> None: ...


class Gate(Protocol):
    """Keeps the settings of a server that looks like production."""

    def demand_yes(self) -> None: ...

    def say_yes(self) -> str: ...


class Watch(Protocol):
    """Tells of the server's sessions, and ends their queries."""

    def renew(self) -> None: ...

    async def kill(self, id: int) -> str: ...


class PlanHand(Protocol):
    """The plan that the load follows; answers in words."""

    def set(self, stages: Schedule) -> str: ...

    def hold(self) -> str: ...

    def resume(self) -> str: ...

    def overruled(self, quantity: Quantity) -> str: ...


class ProbeHand(Protocol):
    """The probe that moves the load; answers in words."""

    def start(self, order: ProbeOrder) -> str: ...

    def stop(self) -> str: ...

    def jump(self) -> str: ...

    def overruled(self, quantity: Quantity) -> str: ...


class Steered(Protocol):
    """What steering needs of a session (the real one, and the one of the tests)."""

    state: RunState

    @property
    def pace(self) -> SteeredLoad: ...

    @property
    def planned(self) -> PlanHand: ...

    @property
    def probing(self) -> ProbeHand: ...

    @property
    def hand(self) -> SettingsHand: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def watch(self) -> Watch: ...

    def hold(self) -> None: ...

    def go_on(self) -> None: ...

    def request_stop(self) -> None: ...

    async def begin_anew(self) -> None: ...

    def tell(self, kind: EventKind, text: str) -> None: ...
