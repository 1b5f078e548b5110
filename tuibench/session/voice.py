"""What everybody hears of a run: its listeners, its record, and the past that late viewers get to see."""

from collections.abc import Callable

from tuibench.model.event import Event
from tuibench.model.message import Downward
from tuibench.model.sample import Sample
from tuibench.record.recorder import Detail
from tuibench.record.text import Interval
from tuibench.session.history import History
from tuibench.session.recording import Recording

Listener = Callable[[Downward], None]
IntervalListener = Callable[[float, Interval], None]


class Voice:
    """Says each thing once to all. `interval_listeners` hear of the measured run only, not of a warm-up."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.history = History()
        self.listeners: list[Listener] = []
        self.interval_listeners: list[IntervalListener] = []

    def publish(self, message: Downward) -> None:
        self.recording.heard(message)
        for listener in self.listeners:
            listener(message)

    def event(self, event: Event) -> None:
        self.recording.event(event)
        self.publish(event)

    def sample(self, sample: Sample, detail: Detail | None) -> None:
        self.history.add(sample)
        self.recording.sample(sample, detail)
        self.publish(sample)

    def interval(self, elapsed_seconds: float, interval: Interval) -> None:
        for listener in self.interval_listeners:
            listener(elapsed_seconds, interval)
