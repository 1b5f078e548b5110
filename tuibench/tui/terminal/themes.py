"""The two built-in themes, and the chart colours of all other themes."""

import difflib

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tuibench.errors import UsageError

DARK_THEME = Theme(
    name="tuibench-dark",
    primary="#6ea8fe",
    secondary="#b79cf2",
    accent="#e8eef6",
    success="#4ecfb0",
    warning="#eab765",
    error="#f2707e",
    foreground="#c8d1dc",
    background="#0e131a",
    surface="#141b24",
    panel="#1b2430",
    dark=True,
    variables={
        "tps": "#4ecfb0",
        "qps": "#6ea8fe",
        "latency": "#b79cf2",
        "muted": "#7f8c9d",
        "detail": "#c8d1dcd8",
        "faint": "#3a4757",
        "strong": "#eef3f9",
        "alarm-text": "#1a0b0e",
        "alarm-ground": "#3a1820",
    },
)
LIGHT_THEME = Theme(
    name="tuibench-light",
    primary="#2563c9",
    secondary="#7446c4",
    accent="#17202b",
    success="#0a7761",
    warning="#8f5b00",
    error="#c02a3c",
    foreground="#2c3642",
    background="#fbfbf9",
    surface="#f2f3f2",
    panel="#e7e9ea",
    dark=False,
    variables={
        "tps": "#0a7761",
        "qps": "#2563c9",
        "latency": "#7446c4",
        "muted": "#5d6874",
        "detail": "#2c3642e0",
        "faint": "#c3cad1",
        "strong": "#0d151e",
        "alarm-text": "#ffffff",
        "alarm-ground": "#fbe3e4",
    },
)
OWN_THEMES = (DARK_THEME, LIGHT_THEME)
DEFAULT_THEME = DARK_THEME.name
NO_COLOR_THEME = "ansi-dark"
"""Theme for NO_COLOR: with a true-colour theme Textual would write shades of grey."""


_ANSI = {
    "tps": "ansi_green",
    "qps": "ansi_blue",
    "latency": "ansi_magenta",
    "muted": "ansi_default",
    "detail": "ansi_default",
    "faint": "ansi_bright_black",
    "strong": "ansi_default",
    "alarm-text": "ansi_red",
    "alarm-ground": "ansi_default",
}


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Values of tuibench's theme variables, from the colours of a theme that does not set them."""
    if theme.ansi:
        return _ANSI
    colours = theme.to_color_system().generate()
    ground, ink = Color.parse(colours["background"]), Color.parse(colours["foreground"])
    return {
        "tps": colours["success"],
        "qps": colours["primary"],
        "latency": colours["accent"],
        "muted": ground.blend(ink, 0.6).hex,
        "detail": ink.with_alpha(0.85).hex,
        "faint": ground.blend(ink, 0.25).hex,
        "strong": ink.hex,
        "alarm-text": colours["background"],
        "alarm-ground": ground.blend(Color.parse(colours["error"]), 0.2).hex,
    }


def theme_names() -> list[str]:
    """All theme names, tuibench's own first."""
    return [theme.name for theme in OWN_THEMES] + sorted(BUILTIN_THEMES)


def check_theme(name: str) -> None:
    """Raises UsageError with the closest name if there is no such theme."""
    if name in theme_names():
        return
    near = difflib.get_close_matches(name, theme_names(), n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else "there are: " + ", ".join(theme_names())
    raise UsageError(f"there is no theme '{name}'", hint)
