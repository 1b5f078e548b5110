"""Name lookup by unique part, and suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Sequence

FEW, SHOWN = 8, 3


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """The hint for the unknown name `word`: the nearest valid name, or all names if there are few."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"valid: {', '.join(names)}" if 0 < len(names) <= FEW else ""


def abbreviated_list(names: Sequence[str]) -> str:
    """The names in one line: all if there are few, otherwise the first ones and the number of the others."""
    if len(names) <= FEW:
        return ", ".join(names)
    shown = names[:SHOWN]
    return f"{', '.join(shown)} and {len(names) - len(shown):,} more"


def matching_names(wanted: str, names: Sequence[str]) -> list[str]:
    """The matching names: the exact one, else those with this prefix, else those that contain it."""
    if wanted in names:
        return [wanted]
    return [name for name in names if name.startswith(wanted)] or [name for name in names if wanted in name]
