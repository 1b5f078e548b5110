"""The dialog that starts a screening of settings."""

from tuibench.model.message import StartTune
from tuibench.model.settings import SettingTopic
from tuibench.model.tune import parse_tune_text
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.screens.dialogs import InputDialog
from tuibench.tui.screens.tab import tab_key
from tuibench.tui.screens.tabs import TABS_BY_NAME
from tuibench.tui.view import View

_TUNE_FACTS = (
    "Alternates each value with the current settings, shows which are better, worse or without effect, and "
    "restores everything. Topics, settings, a time (10m), a tolerance (2%) and allow-risk can be combined. "
    "Screen {screen} shows the screening; {key} ends it."
)


def tune_dialog(view: View) -> InputDialog:
    """Asks for the settings of a screening, which starts at once."""
    facts = _TUNE_FACTS.format(
        key=action_key(ACTIONS_BY_NAME["screening"], view),
        screen=tab_key(TABS_BY_NAME["tune"], view),
    )
    offers = {"": "every setting without a risk, 10 min"}
    for topic in SettingTopic:
        # The topic has a setting that this login can change while the server runs.
        names = [
            each.short_name or each.name
            for each in view.status.settings
            if each.topic == topic and not each.unavailable
        ]
        if names:
            risk = " allow-risk" if topic is SettingTopic.DURABILITY else ""
            offers[f"{topic}{risk}"] = ", ".join(names)
    return InputDialog(
        "Tune: find the settings that matter", facts, "for example flushing 10m",
        lambda text: StartTune(parse_tune_text(text)), verb="starts", offers=offers, empty="all",
    )  # fmt: skip
