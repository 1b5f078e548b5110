"""Shorter colour sequences: what the terminal has already is not sent again.

rich begins each text with all its attributes and ends it with a reset. Most texts of a repaint have the same
background, and many the foreground of the one before: colours are three of four bytes of a second on the live
screen. Here a text is preceded by the difference to the state in which the terminal is (ECMA-48, SGR).
"""

import re
from typing import NamedTuple

_PART = re.compile(
    r"\x1b\[(?P<sgr>[\d;]*)m | (?P<move>\x1b\[\d+;\d+H) | (?P<text>(?:(?!\x1b\[[\d;]*[mH]).)+)", re.S | re.X
)
_UNKNOWN = re.compile(r"\x1b\[[\d;]*:[\d;:]*m")
"""A colour sequence with subparameters."""
_RESET = "\x1b[0m"
_EXTENDED = {"2": 5, "5": 3}
"""Parameters of an extended colour, after 38 and 48: RGB, and a number of the palette."""
_MOST_ATTRIBUTE = 9
_OWN_ATTRIBUTES = frozenset({"21", "51", "52", "53"})
_ON_BLANKS = frozenset({"4", "5", "6", "7", "9"}) | _OWN_ATTRIBUTES
"""Attributes that are seen on a blank: underlined, blinking, reversed, struck …"""


class _State(NamedTuple):
    """The attributes of a terminal; colours as parameters, empty for the terminal's own."""

    attributes: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""

    def after(self, parameters: str) -> "_State | None":
        """The state after a sequence; None if it has a parameter that is not understood."""
        state, left = self, (parameters or "0").split(";")
        while left:
            length = _EXTENDED.get(left[1], 1) if left[0] in ("38", "48") and len(left) > 1 else 1
            name, code, left = left[0], ";".join(left[:length]), left[length:]
            number = int(name or "0")
            if number == 0:
                state = _State()
            elif number <= _MOST_ATTRIBUTE or name in _OWN_ATTRIBUTES:
                state = state._replace(attributes=state.attributes | {code})
            elif 30 <= number <= 38 or 90 <= number <= 97:
                state = state._replace(foreground=code)
            elif 40 <= number <= 48 or 100 <= number <= 107:
                state = state._replace(background=code)
            elif number == 39:
                state = state._replace(foreground="")
            elif number == 49:
                state = state._replace(background="")
            else:
                return None
        return state

    def on_blanks(self, shown: "_State") -> "_State":
        """A state like `shown` in which blanks look as they do in this one."""
        if (self.attributes | shown.attributes) & _ON_BLANKS:
            return self
        return shown._replace(background=self.background)

    def sequence_from(self, shown: "_State") -> str:
        """The shortest sequence after which a terminal in the state `shown` has this one."""
        if self == shown:
            return ""
        if self == _State():
            return _RESET
        must_end = (
            shown.attributes - self.attributes
            or (shown.foreground and not self.foreground)
            or (shown.background and not self.background)
        )
        before = _State() if must_end else shown
        codes = ["0"] if must_end else []
        codes += sorted(self.attributes - before.attributes)
        codes += [self.foreground] if self.foreground != before.foreground else []
        codes += [self.background] if self.background != before.background else []
        return f"\x1b[{';'.join(codes)}m"


def shortened(sequence: str) -> str:
    """A sequence of texts, colours and cursor movements, with the same effect on a terminal without
    attributes, which it leaves without attributes.

    It is returned as it is if it has a colour sequence that is not understood.
    """
    if _UNKNOWN.search(sequence):
        return sequence
    written: list[str] = []
    wanted = shown = _State()
    for part in _PART.finditer(sequence):
        if (parameters := part["sgr"]) is not None:
            state = wanted.after(parameters)
            if state is None:
                return sequence
            wanted = state
        elif part["move"] is not None:
            written.append(part["move"])
        else:
            text = part["text"]
            needed = wanted if text.strip(" ") else wanted.on_blanks(shown)
            written += [needed.sequence_from(shown), text]
            shown = needed
    if shown != _State():
        written.append(_RESET)
    return "".join(written)
