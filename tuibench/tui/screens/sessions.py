"""Sessions and locks: who waits for whom, what is open, the last deadlock; a query can be ended."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.activity import ServerSession
from tuibench.model.command import KillQuery, WatchActivity
from tuibench.tui.panels import sessions as panels
from tuibench.tui.screens.confirm import ConfirmScreen, Proposal
from tuibench.tui.screens.main import Frame, MainScreen
from tuibench.tui.selection import MOVES, Selection
from tuibench.tui.spans import Line
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Panel


class SessionsScreen(MainScreen):
    """Shows what the View knows of the server's sessions; the app asks the session for it meanwhile."""

    KEYS = (("↑ ↓", "choose"), ("k", "end its query"), ("esc", "back"))
    asks = WatchActivity()

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k,enter", "kill", "End its query", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVES.items()),
    ]

    def __init__(self, view: View, frame: Frame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()

    def body(self) -> ComposeResult:
        yield self.panel(self._waits, id="waits")
        yield self.panel(self._transactions, id="transactions")
        yield self.panel(self._sessions, id="session-list")
        yield self.panel(self._deadlock, id="deadlock")

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids)
        self.query_one("#waits").styles.height = panels.waits_height(view.activity)

    @property
    def chosen(self) -> ServerSession | None:
        """The session that is marked."""
        listed = self.view.activity.sessions if self.view.activity else ()
        return next((session for session in listed if session.id == self._selection.id), None)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids, by)
        self.query_one("#session-list", Panel).show(self.view)

    def action_kill(self) -> None:
        session = self.chosen
        if session is None:
            return

        def decided(kill: bool | None) -> None:
            if kill:
                self.post_message(self.Wanted(KillQuery(session.id)))

        self.app.push_screen(ConfirmScreen(kill_proposal(session)), decided)

    @property
    def _ids(self) -> list[int]:
        return [session.id for session in self.view.activity.sessions] if self.view.activity else []

    def _waits(self, view: View, width: int, height: int) -> list[Line]:
        return panels.waits(view.activity, width, height)

    def _transactions(self, view: View, width: int, height: int) -> list[Line]:
        return panels.transactions(view.activity, width, height)

    def _sessions(self, view: View, width: int, height: int) -> list[Line]:
        return panels.sessions(view.activity, self._selection, width, height)

    def _deadlock(self, view: View, width: int, height: int) -> list[Line]:
        return panels.deadlock(view.activity, width, height)


def kill_proposal(session: ServerSession) -> Proposal:
    """What is asked before a query is ended."""
    where = f"{session.user}@{session.host} in {session.database or 'no database'}"
    return Proposal(
        command=KillQuery(session.id),
        title=f"End the query of connection {session.id}",
        steps=(where, session.statement or f"({session.command}, no statement)"),
        meaning="Its statement fails with error 1317. Whoever sent it may do it again.",
        at_risk=True,
        promise="The connection stays; one that is idle in a transaction keeps its locks.",
        verb="end its query",
    )
