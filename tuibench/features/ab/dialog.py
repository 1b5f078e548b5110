"""Dialog that starts an A/B test: two values, tolerance, and maximum duration."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from tuibench.base import sanitize
from tuibench.base.errors import UsageError
from tuibench.model.effect import DEFAULT_MAX_SECONDS, DEFAULT_TOLERANCE_PERCENT
from tuibench.model.event import EventKind
from tuibench.model.message import StartAbTest
from tuibench.model.option import parse_duration
from tuibench.model.schedule import format_duration, parse_ab, parse_tolerance
from tuibench.model.settings import ab_order
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.screens.dialogs import CHOOSE, OfferDialog, Parser, ParseValidator, offer_label
from tuibench.tui.view import View

MAX_LENGTH = 120

_FACTS = (
    "Alternates two values, A and B, in windows of a few seconds, in random order, until B is better than A, "
    "worse, or equal. The original value is restored at the end; press {key} again to end the test early."
)


class _Field(NamedTuple):
    """One field of the dialog: name, label, and parser."""

    name: str
    label: str
    read: Parser


_FIELDS = (
    _Field("values", "Values", parse_ab),
    _Field("until", "Equal within", parse_tolerance),
    _Field("longest", "At most", parse_duration),
)


class AbTestDialog(OfferDialog[StartAbTest | None]):
    """Returns the A/B test to start, or None if cancelled. It initially has the values of the
    shown effect.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, view: View) -> None:
        super().__init__(ab_offers(view))
        self._key = action_key(ACTIONS_BY_NAME["ab_test"], view)
        self._values = {
            "values": proposed_order(view),
            "until": f"{DEFAULT_TOLERANCE_PERCENT:g}%",
            "longest": format_duration(DEFAULT_MAX_SECONDS),
        }

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog ask") as dialog:
            dialog.border_title = "A/B test"
            choose = CHOOSE if self._offers else ""
            dialog.border_subtitle = f"{choose}tab next · enter starts · esc goes back"
            yield Static(sanitize.lines(_FACTS.format(key=self._key)), classes="quiet", markup=False)
            for field in _FIELDS:
                with Horizontal(classes="field"):
                    yield Static(field.label, classes="label", markup=False)
                    line = Input(
                        sanitize.text(self._values[field.name]),
                        placeholder="for example sync_binlog=1,0",
                        validators=[ParseValidator(field.read)],
                        validate_on=["changed", "submitted"],
                        max_length=MAX_LENGTH,
                        id=field.name,
                    )
                    line.cursor_blink = line.select_on_focus = False
                    yield line
            yield Static("", id="ask-error", classes="error", markup=False)
            if self._offers:
                dialog.set_class(True, "-offers")
                yield self.offer_list(offer_label(self._offers))

    def on_input_changed(self, event: Input.Changed) -> None:
        self._values[event.input.id or ""] = event.value
        self._show_error(self._error())

    def on_input_submitted(self) -> None:
        if error := self._error(submitted=True):
            self._show_error(error)
            return
        subject, a, b = parse_ab(self._values["values"])
        self.dismiss(
            StartAbTest(
                subject=subject,
                a=a,
                b=b,
                tolerance_percent=parse_tolerance(self._values["until"]),
                max_seconds=parse_duration(self._values["longest"]),
            )
        )

    def _error(self, *, submitted: bool = False) -> str:
        """Error of the first invalid field; an empty field is an error only on submission."""
        for field in _FIELDS:
            text = self._values[field.name]
            if not text.strip() and not submitted:
                continue
            try:
                field.read(text)
            except UsageError as error:
                return str(error)
        return ""

    def _show_error(self, text: str) -> None:
        self.query_one("#ask-error", Static).update(sanitize.text(text))


def ab_offers(view: View) -> dict[str, str]:
    """Tests that can be started directly: the last change, presets, threads, listed values of settings."""
    offers = {}
    if last := proposed_order(view):
        offers[last] = "the last change"
    if presets := [preset.name for preset in view.status.presets]:
        offers[f"preset={presets[0]},{presets[-1]}"] = "what durability costs"
    threads = view.status.threads
    if not view.is_watch:
        offers[f"threads={threads},{threads * 2}"] = "twice the threads"
    for setting in view.status.settings:
        others = [value for value in setting.choices if value != setting.value]
        if others and setting.value and not setting.unavailable:
            offers.setdefault(f"{setting.name}={setting.value},{others[0]}", setting.topic)
    return offers


def proposed_order(view: View) -> str:
    """Values of the shown effect, otherwise of the newest change between two values; empty without one."""
    texts = [view.effect.change] if view.effect is not None else []
    texts += [event.text for event in reversed(view.events) if event.kind in _CHANGES]
    presets = view.status.presets
    return next(filter(None, (ab_order(text, presets) for text in texts)), "")


_CHANGES = (EventKind.SETTING, EventKind.THREADS)
