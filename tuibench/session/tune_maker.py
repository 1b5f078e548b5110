"""Factory of the screenings of a session, with a load or without."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tuibench.model.experiments.tune import TunePlan
from tuibench.session.spec import SessionSpec
from tuibench.session.tune.runner import Submit, TuneRun
from tuibench.session.watcher import Watcher


class TuneMaker(Protocol):
    """`on_end` is called at the end of an operator's screening; one without it ends the run."""

    def __call__(self, order: TunePlan, on_end: Callable[[], None] | None = None) -> TuneRun: ...


def tune_maker(watcher: Watcher, spec: SessionSpec, submit: Submit) -> TuneMaker:
    """Returns a factory of screenings on the watched server; their changes are submitted as commands."""

    def make(order: TunePlan, on_end: Callable[[], None] | None = None) -> TuneRun:
        return TuneRun(
            order,
            spec.plan,
            watcher.server,
            Path(spec.run_directory),
            watcher.settings,
            watcher.lifecycle,
            watcher.log,
            submit,
            watcher.tasks.start,
            watcher.bus.publish,
            on_end,
        )

    return make
