"""How a misspelt name is answered: with the nearest valid one, or all of them when they are few."""

import difflib
from collections.abc import Iterable

FEW = 8


def hint(word: str, valid: Iterable[str]) -> str:
    """What to suggest to somebody who wrote `word` where only the `valid` names are understood."""
    names = sorted(set(valid))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"valid: {', '.join(names)}" if 0 < len(names) <= FEW else ""
