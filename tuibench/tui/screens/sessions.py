"""Sessions and locks: who is on the server, who waits for whom, the last deadlock; a query can be ended."""

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen

from tuibench.model.activity import ServerSession
from tuibench.model.command import KillQuery
from tuibench.tui.panels import sessions as panels
from tuibench.tui.panels.footer import note
from tuibench.tui.panels.head import head
from tuibench.tui.screens.confirm import ConfirmScreen, Proposal
from tuibench.tui.selection import Selection
from tuibench.tui.spans import Line
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Palette, Panel

PAGE = 10
MOVES = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE, "home": -(10**6), "end": 10**6}
KEYS = (("↑ ↓", "choose"), ("k", "end its query"), ("esc", "back"))


class SessionsScreen(Screen[None]):
    """Shows what the View knows of the server's sessions; the app asks the session for it meanwhile."""

    class KillWanted(Message):
        """The operator has confirmed it."""

        def __init__(self, command: KillQuery) -> None:
            super().__init__()
            self.command = command

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,l,q", "back", "Back", show=False),
        Binding("k,enter", "kill", "End its query", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVES.items()),
    ]

    def __init__(self, view: View, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._view = msgspec.structs.replace(view, activity=None)
        self._ascii_only = ascii_only
        self._selection = Selection()

    def compose(self) -> ComposeResult:
        yield Palette()
        with Vertical(id="sessions"):
            yield Panel(head, ascii_only=self._ascii_only, id="head")
            yield Panel(self._waits, ascii_only=self._ascii_only, id="waits")
            yield Panel(self._sessions, ascii_only=self._ascii_only, id="session-list")
            yield Panel(self._deadlock, ascii_only=self._ascii_only, id="deadlock")
            yield Panel(note, ascii_only=self._ascii_only, id="note")
            yield Panel(self._keys, ascii_only=self._ascii_only, id="keys")

    def on_mount(self) -> None:
        self.show(self._view)

    def show(self, view: View) -> None:
        """Paint everything that changed with this view."""
        self._view = view
        self._selection = self._selection.settled(self._ids)
        with self.app.batch_update():
            self.query_one("#waits").styles.height = panels.waits_height(view.activity)
            for panel in self.query(Panel):
                panel.show(view)

    @property
    def chosen(self) -> ServerSession | None:
        """The session that is marked."""
        listed = self._view.activity.sessions if self._view.activity else ()
        return next((session for session in listed if session.id == self._selection.id), None)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids, by)
        self.query_one("#session-list", Panel).show(self._view)

    def action_back(self) -> None:
        self.dismiss(None)

    def action_kill(self) -> None:
        session = self.chosen
        if session is None:
            return

        def decided(kill: bool | None) -> None:
            if kill:
                self.post_message(self.KillWanted(KillQuery(session.id)))

        self.app.push_screen(ConfirmScreen(kill_proposal(session)), decided)

    @property
    def _ids(self) -> list[int]:
        return [session.id for session in self._view.activity.sessions] if self._view.activity else []

    def _waits(self, view: View, width: int, height: int) -> list[Line]:
        return panels.waits(view.activity, width, height)

    def _sessions(self, view: View, width: int, height: int) -> list[Line]:
        return panels.sessions(view.activity, self._selection, width, height)

    def _deadlock(self, view: View, width: int, height: int) -> list[Line]:
        return panels.deadlock(view.activity, width, height)

    def _keys(self, view: View, width: int, height: int) -> list[Line]:
        return panels.keys(KEYS, width, height)


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
    )
