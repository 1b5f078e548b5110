"""What a shell asks of this program, and how it wants its answer.

A shell's function calls the program with `_TUIBENCH_COMPLETE=complete_SHELL` and the words of the line in
`COMP_WORDS`, one a line; `COMP_CWORD` is the number of the unfinished one. The answer has a word a line.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tuibench.cli.arguments import COMPLETE
from tuibench.cli.completion.line import offers
from tuibench.cli.completion.lookups import GOES_ON, Offer

ASKS = "complete_"


def answer(commands: Mapping[str, str], command: Callable[[str], Any]) -> str:
    """What the shell that the environment tells of wants to read; empty where nothing can stand."""
    shell = os.environ[COMPLETE].removeprefix(ASKS)
    if shell not in FORMS:
        return ""
    words, unfinished, cut = _typed()
    found = offers(words, unfinished, commands, command)
    return "".join(f"{FORMS[shell](each._replace(word=each.word[cut:]))}\n" for each in found)


def _typed() -> tuple[list[str], str, int]:
    """The finished words, the unfinished one, and how much of that the shell takes for an earlier word."""
    words = os.environ.get("COMP_WORDS", "").split("\n")
    place = int(os.environ.get("COMP_CWORD") or 0)
    words = [*words[:place], words[place] if place < len(words) else ""]
    joined = _joined(words[1:])
    last = joined[-1] if joined else ""
    cut = len(last) - len(words[-1]) if words[-1] != GOES_ON else len(last)
    return joined[:-1], last, cut


def _joined(words: Sequence[str]) -> list[str]:
    """The words as they were typed: bash takes `--threads=4` for three of them."""
    joined: list[str] = []
    for place, word in enumerate(words):
        follows = word == GOES_ON or (place and words[place - 1] == GOES_ON)
        if follows and joined:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _with_help(separator: str, offer: Offer) -> str:
    return f"{offer.word}{separator}{' '.join(offer.help.split())}" if offer.help else offer.word


def _for_bash(offer: Offer) -> str:
    return offer.word


def _for_zsh(offer: Offer) -> str:
    return _with_help(":", offer._replace(word=offer.word.replace(":", r"\:")))


def _for_fish(offer: Offer) -> str:
    return _with_help("\t", offer)


FORMS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
