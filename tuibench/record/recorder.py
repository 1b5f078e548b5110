"""The run directory: plan, samples, events and summary, written as they come.

Every line is flushed when it is written, so a crash loses at most one tick.
"""

from pathlib import Path
from typing import IO

import msgspec

from tuibench.errors import RunError
from tuibench.model.event import Event
from tuibench.model.plan import Plan
from tuibench.model.sample import Sample
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Summary
from tuibench.model.target import Target


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`plan.json`: what was run, and where. Never holds a password."""

    session: str
    started_at: float
    plan: Plan
    target: Target
    server: ServerInfo


class Recorder:
    """Writes one run directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._samples: IO[bytes] | None = None
        self._events: IO[bytes] | None = None

    def open(self, record: PlanRecord) -> None:
        """Makes the directory and writes the plan. Raises RunError when that is not possible."""
        try:
            self.directory.mkdir(parents=True)
            self._write("plan.json", record)
            self._samples = (self.directory / "samples.jsonl").open("wb")
            self._events = (self.directory / "events.jsonl").open("wb")
        except OSError as error:
            raise RunError(
                f"cannot write the run's record to {self.directory}: {error.strerror}",
                "choose another place with --run-dir or TUIBENCH_HOME",
            ) from error

    def sample(self, sample: Sample) -> None:
        _append(self._samples, sample)

    def event(self, event: Event) -> None:
        _append(self._events, event)

    def summary(self, summary: Summary) -> None:
        """Writes the summary, the last file of a run."""
        self._write("summary.json", summary)

    def close(self) -> None:
        for stream in (self._samples, self._events):
            if stream is not None:
                stream.close()

    def _write(self, name: str, value: msgspec.Struct) -> None:
        (self.directory / name).write_bytes(pretty_json(value))


def pretty_json(value: msgspec.Struct) -> bytes:
    """JSON for people and programs: indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _append(stream: IO[bytes] | None, line: msgspec.Struct) -> None:
    if stream is not None:
        stream.write(msgspec.json.encode(line) + b"\n")
        stream.flush()
