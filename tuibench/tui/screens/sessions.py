"""Sessions screen: lock waits, sessions, the last deadlock; a query can be killed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.command import KillQuery, WatchActivity
from tuibench.model.measurements.activity import ServerSession
from tuibench.tui.panels.selection import MOVE_KEYS, Selection
from tuibench.tui.panels.server import sessions as panels
from tuibench.tui.screens.base import ScreenFrame
from tuibench.tui.screens.confirm import ChangePrompt, ConfirmDialog
from tuibench.tui.screens.search import SearchScreen
from tuibench.tui.text.spans import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Panel


class SessionsScreen(SearchScreen):
    """Displays the server's sessions in the View, which the app polls from the session meanwhile."""

    KEYS = (("↑ ↓", "choose"), ("/", "filter"), ("k", "end its query"), ("esc", "back"))
    poll_command = WatchActivity()

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k,enter", "kill", "End its query", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()

    def body(self) -> ComposeResult:
        yield self.search_line("words of a user, host, database, state or statement")
        yield self.panel(self._waits, id="waits")
        yield self.panel(self._transactions, id="transactions")
        yield self.panel(self._sessions, id="session-list")
        yield self.panel(self._deadlock, id="deadlock")

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids)
        self.query_one("#waits").styles.height = panels.lock_waits_height(view.activity)

    @property
    def chosen(self) -> ServerSession | None:
        """The selected session."""
        return next((session for session in self._listed if session.id == self._selection.id), None)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids, by)
        self.repaint()

    def repaint(self) -> None:
        self._selection = self._selection.settled(self._ids)
        self.query_one("#session-list", Panel).show(self.view)

    def action_kill(self) -> None:
        session = self.chosen
        if session is None:
            return

        def decided(kill: bool | None) -> None:
            if kill:
                self.post_message(self.CommandRequested(KillQuery(session.id)))

        self.app.push_screen(ConfirmDialog(kill_prompt(session)), decided)

    @property
    def _ids(self) -> list[int]:
        return [session.id for session in self._listed]

    @property
    def _listed(self) -> list[ServerSession]:
        """The sessions that match the words."""
        return panels.matching_sessions(self.view.activity, self.words)

    def _waits(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.lock_waits(view.activity, width, height)

    def _transactions(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.open_transactions(view.activity, width, height)

    def _sessions(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.session_list(view.activity, self._selection, width, height, self.words)

    def _deadlock(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.last_deadlock(view.activity, width, height)


def kill_prompt(session: ServerSession) -> ChangePrompt:
    """Confirmation before a query is killed."""
    where = f"{session.user}@{session.host} in {session.database or 'no database'}"
    return ChangePrompt(
        command=KillQuery(session.id),
        title=f"End the query of connection {session.id}",
        steps=(where, session.statement or f"({session.command}, no statement)"),
        meaning="Its statement fails with error 1317. The client may retry it.",
        at_risk=True,
        promise="The connection stays open; if it is idle in a transaction, it keeps its locks.",
        verb="end its query",
    )
