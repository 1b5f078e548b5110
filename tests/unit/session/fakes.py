"""A session that steering and service can be tried on: it notes what it is told to do."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from tests import examples
from tuibench.errors import ExitCode, TuibenchError
from tuibench.model.command import Command, Stop
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward, Hello, RunState
from tuibench.model.probe import ProbeOrder
from tuibench.model.sample import Sample
from tuibench.model.schedule import Quantity, Schedule
from tuibench.model.schedule_text import schedule_text
from tuibench.model.summary import Summary
from tuibench.model.target import Target
from tuibench.session.spec import ServiceSpec, SessionSpec
from tuibench.tuning.consent import ProductionError


class FakeHand:
    """The hand on the settings: answers from `answers`, raises `refusal`, waits while `gate` is closed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refusal: TuibenchError | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.working = 0
        self.most_working = 0

    async def change(self, name: str, value: str) -> str:
        return await self._work(name, value)

    async def apply(self, preset: str) -> str:
        return await self._work(preset)

    async def put_back(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """With no names everything, of which there is nothing."""
        return tuple([await self._work(name) for name in names])

    async def _work(self, *words: str) -> str:
        self.asked.append(words)
        self.working += 1
        self.most_working = max(self.most_working, self.working)
        await self.gate.wait()
        self.working -= 1
        if self.refusal:
            raise self.refusal
        return f"{' '.join(words)}: old → new"


class FakeGate:
    """The gate before the settings; closed as long as there are `signs`."""

    def __init__(self) -> None:
        self.signs: tuple[str, ...] = ()

    def demand_yes(self) -> None:
        if self.signs:
            raise ProductionError("db1", self.signs)

    def say_yes(self) -> str:
        self.signs = ()
        return "it may be changed"


class FakeWatch:
    """Ends queries, unless `refusal` speaks against it."""

    def __init__(self, done: list[str]) -> None:
        self.refusal: TuibenchError | None = None
        self._done = done

    def renew(self) -> None:
        self._done.append("renew")

    async def kill(self, id: int) -> str:
        if self.refusal:
            raise self.refusal
        self._done.append(f"kill {id}")
        return f"killed {id}"


class FakePace:
    """How hard the load works; what it is told goes to `done`, once `gate` is open."""

    def __init__(self, done: list[str], threads: int) -> None:
        self.threads = threads
        self.rate = 0.0
        self.client_delay_ms = 0.0
        self.most_let_in: int | None = None
        self.weights: dict[str, float] = {"new": 90.0, "old": 10.0}
        self.gate = asyncio.Event()
        self.gate.set()
        self._done = done

    async def set_threads(self, threads: int) -> None:
        await self.gate.wait()
        self.threads = threads
        self._done.append(f"threads {threads}")

    def set_rate(self, rate_per_second: float) -> None:
        self.rate = rate_per_second
        self._done.append(f"rate {rate_per_second:g}")

    def set_weights(self, given: Mapping[str, float]) -> None:
        self.weights = {**self.weights, **given}
        self._done.append(f"weights {self.weights}")

    def set_delay(self, milliseconds: float) -> None:
        self.client_delay_ms = milliseconds
        self._done.append(f"delay {milliseconds:g}")


class FakePlan:
    """The plan; what it is told goes to `done`."""

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def set(self, stages: Schedule) -> str:
        self._done.append(f"plan {schedule_text(stages)}")
        return "planned"

    def hold(self) -> str:
        self._done.append("hold plan")
        return "held"

    def resume(self) -> str:
        self._done.append("resume plan")
        return "resumed"

    def overruled(self, quantity: Quantity) -> str:
        self._done.append(f"{quantity} by hand")
        return ""


class FakeProbe:
    """The probe; what it is told goes to `done`."""

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def start(self, order: ProbeOrder) -> str:
        self._done.append(f"probe by {order.by}")
        return "probing"

    def stop(self) -> str:
        self._done.append("stop probe")
        return "stopped"

    def jump(self) -> str:
        self._done.append("next step")
        return "next"

    def overruled(self, quantity: Quantity) -> str:
        return ""


class FakeSteered:
    """What steering needs of a session."""

    def __init__(self, state: RunState = RunState.RUNNING, threads: int = 8) -> None:
        self.state = state
        self.hand = FakeHand()
        self.gate = FakeGate()
        self.done: list[str] = []
        self.watch = FakeWatch(self.done)
        self.told: list[tuple[EventKind, str]] = []
        self.pace = FakePace(self.done, threads)
        self.planned = FakePlan(self.done)
        self.probing = FakeProbe(self.done)

    def hold(self) -> None:
        self.state = RunState.PAUSED
        self.done.append("hold")

    def go_on(self) -> None:
        self.state = RunState.RUNNING
        self.done.append("go on")

    def request_stop(self) -> None:
        self.done.append("stop")

    async def begin_anew(self) -> None:
        self.done.append("begin anew")

    def tell(self, kind: EventKind, text: str) -> None:
        self.told.append((kind, text))


class FakeSettings:
    async def guard(self) -> None:
        return


class FakeSession:
    """What the service needs of a session; it runs until `end` or until it is asked to stop."""

    def __init__(self, folder: Path) -> None:
        self.spec = SessionSpec(
            session="s1", plan=examples.PLAN, target=Target(), run_directory=str(folder / "runs" / "s1")
        )
        self.listeners: list[Callable[[Downward], None]] = []
        self.viewer_pids: set[int] = set()
        self.settings = FakeSettings()
        self.name = examples.hello().session
        self.stops_when_told = False
        self.past: list[Sample] = []
        self.told: list[Event] = []
        self.submitted: list[Command] = []
        self.stops: list[str] = []
        self.refusal: Exception | None = None
        self.exit_code = ExitCode.DONE
        self.answering = asyncio.Event()
        self.answering.set()
        self._over = asyncio.Event()

    async def open(self) -> None:
        return

    async def run(self) -> Summary:
        await self._over.wait()
        return examples.summary()

    def end(self) -> None:
        self._over.set()

    def request_stop(self, outcome: str = "stopped") -> None:
        self.stops.append(outcome)
        self._over.set()

    async def submit(self, command: Command) -> str:
        self.submitted.append(command)
        await self.answering.wait()
        if self.refusal:
            raise self.refusal
        if self.stops_when_told and isinstance(command, Stop):
            self.end()
        return f"did {len(self.submitted)}"

    def text(self, summary: Summary) -> str:
        return "the summary\n"

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        past = tuple(self.past[-samples:]) if samples else ()
        return examples.hello(session=self.name, samples=past, events=tuple(self.told) if with_events else ())

    def say(self, message: Downward) -> None:
        for listener in self.listeners:
            listener(message)


def service_spec(session: FakeSession, socket: Path, grace_seconds: float | None = 60.0) -> ServiceSpec:
    return ServiceSpec(session=session.spec, socket=str(socket), grace_seconds=grace_seconds)
