"""A script of a viewer: acts on the session and on the screen in place of the operator."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tuibench.model.message import Command
from tuibench.tui.view import Caption, View


class ShowScreen(NamedTuple):
    """Switch to a screen of the tab line."""

    name: str


class PinEffects(NamedTuple):
    """Pin the effects of these changes: one, or two side by side."""

    markers: tuple[int, ...]


ScriptAction = Command | ShowScreen | PinEffects


class ViewerScript(Protocol):
    """A script, such as a scene of a demonstration."""

    @property
    def is_over(self) -> bool: ...

    @property
    def caption(self) -> Caption: ...

    def go_on(self) -> None:
        """Continue with the next step now."""

    def advance(self, view: View, now: float) -> Sequence[ScriptAction]:
        """The actions due now; called with every new view, and periodically."""
