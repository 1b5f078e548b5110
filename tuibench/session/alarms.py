"""Alarms: what an operator should know of a load, reported once or at most every few ticks."""

from collections.abc import Sequence

from tuibench.base.units import pluralize
from tuibench.load.fleet import Loss
from tuibench.load.messages import Counters, WorkerReport
from tuibench.model.event import EventKind
from tuibench.model.server import error_text
from tuibench.model.tick import ERROR, Tick
from tuibench.mysql.errors import TOO_MANY_CONNECTIONS_HINTS

ERROR_SHARE = 0.05
"""Errors per transaction that are reported as a burst; a few deadlocks are normal."""

QUIET_TICKS = 10
"""Ticks between two reports of the same problem."""

REFUSALS = {
    1040: "too many connections (error 1040, max_connections)",
    1203: "too many connections of this user (error 1203, max_user_connections)",
    1226: "the account's resource limit (error 1226)",
}
UNPREPARED = {1461: "the server accepts no more prepared statements (error 1461, max_prepared_stmt_count)"}
"""Why statements are sent as text, by the error of their preparation."""

SILENT = "{name} does not answer: its figures are missing until it does"
LATE = (
    "{name} reports late: this host has more runnable threads than CPUs; its figures come with a later report"
)


class Alarms:
    """Checks each tick and reports what is new."""

    def __init__(self) -> None:
        self._quiet_until: dict[EventKind, int] = {}
        self._tick = 0
        self._refused_before: dict[int, int] = {}
        self._reported_unresponsive: dict[str, set[str]] = {}
        self._told_losses = 0
        self._pending: list[str] = []

    def check(self, tick: Tick) -> list[tuple[EventKind, str]]:
        """The events of this tick that an operator should know."""
        self._tick += 1
        alarms = [(EventKind.WARNING, text) for text in self._pending]
        self._pending = []
        errors = tick.errors
        if errors > ERROR_SHARE * (tick.sums.get("completed", 0) + errors):
            codes = ", ".join(f"{error_text(code)} × {times:g}" for code, times in tick.counts(ERROR).items())
            alarms += self._once(EventKind.ERRORS, f"errors: {codes}")
        if reconnects := tick.sums.get("reconnects"):
            count = round(reconnects)
            alarms += self._once(EventKind.RECONNECT, f"{pluralize(count, 'connection')} reopened")
        return alarms

    def report_unresponsive(self, overdue: Sequence[str], silent: Sequence[str]) -> None:
        """Note workers whose report is missing or that do not run; `check` reports each once."""
        for name in overdue:
            if name in silent:
                self._report_once(name, SILENT)
            elif name not in self._reported_unresponsive:
                self._report_once(name, LATE)

    def _report_once(self, name: str, text: str) -> None:
        reported = self._reported_unresponsive.setdefault(name, set())
        if text not in reported:
            reported.add(text)
            self._pending.append(text.format(name=name))

    def lost(self, losses: Sequence[Loss]) -> None:
        """Note all workers that ended so far; `check` reports each once."""
        self._pending += [loss.event for loss in losses[self._told_losses :]]
        self._told_losses = len(losses)

    def notice(self, texts: Sequence[str]) -> None:
        """Note texts that `check` reports unchanged."""
        self._pending += texts

    def refusals(self, reports: Sequence[WorkerReport]) -> int:
        """Connections that the server has refused since the last call."""
        refused = _refused(reports)
        return sum(refused.get(code, 0) - self._refused_before.get(code, 0) for code in REFUSALS)

    def refusal_remedy(self, reports: Sequence[WorkerReport]) -> str:
        """The remedy for the connections that were refused, whenever that was."""
        refused = _refused(reports)
        return "; ".join(
            refusal_remedy for code, refusal_remedy in TOO_MANY_CONNECTIONS_HINTS.items() if code in refused
        )

    def refused(self, reports: Sequence[WorkerReport]) -> str:
        """A description of what the server refuses; empty if nothing new was refused."""
        refused = _refused(reports)
        new = {code: times - self._refused_before.get(code, 0) for code, times in refused.items()}
        self._refused_before = refused
        alarms = [f"{new[code]} refused: {words}" for code, words in REFUSALS.items() if new.get(code)]
        alarms += [
            f"{times} statements are sent as text: "
            f"{UNPREPARED.get(code, f'the server does not prepare them (error {code})')}"
            for code, times in new.items()
            if times and code not in REFUSALS
        ]
        return "; ".join(alarms)

    def _once(self, kind: EventKind, text: str) -> list[tuple[EventKind, str]]:
        if self._tick < self._quiet_until.get(kind, 0):
            return []
        self._quiet_until[kind] = self._tick + QUIET_TICKS
        return [(kind, text)]


def _refused(reports: Sequence[WorkerReport]) -> dict[int, int]:
    return sum((report.counters for report in reports), Counters()).refused
