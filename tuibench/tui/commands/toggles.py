"""Toggle keys: the command depends on the state of the session."""

from tuibench.model.command import (
    Command,
    HoldPlan,
    Pause,
    Resume,
    ResumePlan,
    StopAbTest,
    StopProbe,
    StopTune,
)
from tuibench.model.message import RunState
from tuibench.model.schedule import PlanPhase
from tuibench.tui.view import View


def pause_or_resume(view: View) -> Command:
    return Resume() if view.status.state is RunState.PAUSED else Pause()


def hold_or_resume_plan(view: View) -> Command:
    plan = view.plan_under_way
    return ResumePlan() if plan is not None and plan.phase is PlanPhase.HELD else HoldPlan()


def stop_probe(view: View) -> Command | None:
    """Command that ends a probe; None without one: the key then opens the probe dialog."""
    return StopProbe() if view.is_probing else None


def stop_ab_test(view: View) -> Command | None:
    """Command that ends an A/B test; one that is the run itself ends with the run."""
    return StopAbTest() if view.is_ab_testing else None


def stop_tune(view: View) -> Command | None:
    """Command that ends a screening of settings."""
    is_stoppable = view.tune is not None and view.tune.can_be_stopped and not view.stopping
    return StopTune() if is_stoppable else None
