"""The session's record: gathers what its files need to know, and hands on what happens as it does."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from tuibench import __version__, files
from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.event import Event
from tuibench.model.message import Downward, Status
from tuibench.model.sample import Sample
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Summary
from tuibench.observe.environment import environment
from tuibench.record.lines import PlanRecord
from tuibench.record.recorder import Detail, Recorder
from tuibench.session.loading import Load
from tuibench.session.spec import SessionSpec
from tuibench.workload import library
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program


class Recording:
    """One session's run directory, from `open` to `close`."""

    def __init__(self, spec: SessionSpec, clock: Clock, complain: Callable[[str], object]) -> None:
        self._spec = spec
        self._clock = clock
        self._recorder = Recorder(Path(spec.run_directory), complain)
        self._load: Load | None = None

    async def open(self, server: ServerInfo, program: Program, load: Load) -> None:
        """Looks at where this is and writes what is known before the load. Raises RunError if it cannot."""
        seen = await environment(self._spec.target, server, self._clock.now_ns)
        self._recorder.open(plan_record(self._spec, server, program, self._clock.wall_seconds()), seen)
        self._load = load
        load.checkpoint_listeners.append(self._recorder.report)

    def heard(self, message: Downward) -> None:
        """Listens to what the session says; of that, what holds now is nowhere else."""
        if isinstance(message, Status):
            self._recorder.status(self._clock.wall_seconds(), message)

    def sample(self, sample: Sample, detail: Detail | None) -> None:
        self._recorder.sample(sample, detail)

    def event(self, event: Event) -> None:
        self._recorder.event(event)

    def close(self, summary: Summary) -> None:
        """The last report, the summary, and what came in after the last tick."""
        if self._load is not None:
            if (rest := self._load.rest()) is not None:
                self._recorder.rest(rest)
            since = self._load.accounting.since_checkpoint
            self._recorder.report(self._load.since_checkpoint(), since.transactions, last=True)
        self._recorder.summary(summary)
        self._recorder.close()


def plan_record(spec: SessionSpec, server: ServerInfo, program: Program, started_at: float) -> PlanRecord:
    """What is run, and where; without the password. `started_at` is by the wall clock."""
    return PlanRecord(
        version=__version__,
        session=spec.session,
        started_at=started_at,
        plan=spec.plan,
        target=spec.target.without_password(),
        server=server,
        data_set=data_set(program).describe(),
        options=dict(program.options),
        headline=program.headline,
        profile_text=spec.plan.profile_text or profile_text(spec.plan.profile),
        profile_digest=hashlib.sha256(msgspec.json.encode(program, order="sorted")).hexdigest(),
    )


def profile_text(profile: str) -> str:
    """The profile's file as it is now; empty if it went away since it was read."""
    try:
        return files.text(library.find(profile))
    except (UsageError, OSError, UnicodeDecodeError):
        return ""
