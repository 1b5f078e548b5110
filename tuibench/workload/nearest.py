"""Which name is meant, and how a misspelt one is answered: with the nearest valid one, or all when few."""

import difflib
from collections.abc import Iterable, Sequence

FEW, SHOWN = 8, 3


def hint(word: str, valid: Iterable[str]) -> str:
    """What to suggest to somebody who wrote `word` where only the `valid` names are understood."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"valid: {', '.join(names)}" if 0 < len(names) <= FEW else ""


def listed(names: Sequence[str]) -> str:
    """The names in a line: all of them when few, else the first ones and how many more there are."""
    if len(names) <= FEW:
        return ", ".join(names)
    shown = names[:SHOWN]
    return f"{', '.join(shown)} and {len(names) - len(shown):,} more"


def matching(wanted: str, names: Sequence[str]) -> list[str]:
    """The names that can be meant: the one itself, else those that begin so, else those that contain it."""
    if wanted in names:
        return [wanted]
    return [name for name in names if name.startswith(wanted)] or [name for name in names if wanted in name]
