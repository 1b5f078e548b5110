"""Type a plan: how threads and rate are to change by themselves."""

from tuibench.model.schedule import Schedule
from tuibench.model.schedule_text import schedule_in, schedule_text
from tuibench.tui.actions import BY_NAME, key_of
from tuibench.tui.screens.ask import AskScreen
from tuibench.tui.view import View

_FACTS = (
    "Stages that follow each other: 16:30s keeps 16 threads for 30 s, 1..128/60s goes up evenly, "
    "1..128/60s doubling in twos; rate 200:30s is transactions a second. A change by hand holds the plan, "
    "{key} lets it go on."
)


def plan_screen(view: View) -> AskScreen[Schedule]:
    """Asks for a plan, which begins at once and takes the place of any other."""
    now = schedule_text(view.status.plan.stages) if view.status.plan else "8:30s,16:30s,64:1m"
    facts = _FACTS.format(key=key_of(BY_NAME["plan"], view))
    return AskScreen("Planned load", facts, now, schedule_in, verb="starts")
