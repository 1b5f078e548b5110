"""Translation of the parser's error messages, which use click's terms.

Each entry of the table is a pattern of click's message and its replacement.
"""

import re
from typing import Any

HOSTS_OPTION = r"--(?:cluster(?:-(?:program|lease|hosts|ca|cert|key|insecure))?|on-host-loss)"
"""Options of a cluster run."""

DASHES = "‐‑‒–—―−"
"""Characters that web pages and word processors put in place of hyphens."""

WITHOUT_HOSTS = "is an option of run, live, probe, sweep, tune, versions and demo"
OPTION_EXAMPLE = "options look like --table-size=1000"
MESSAGES = (
    (rf"no such option '({HOSTS_OPTION})'.*", rf"\1 {WITHOUT_HOSTS}"),
    (r"invalid value for '(-[^']*)'.* is not a valid integer( range)?", r"\1 takes a whole number"),
    (r"invalid value for '(-[^']*)'.* is not a valid float( range)?", r"\1 takes a number"),
    (
        r"no such option '(\S+)'\. \(?(?:did you mean|possible options:).*?(--[\w-]+)\b.*",
        r"unknown option \1 (did you mean '\2'?)",
    ),
    (r"no such option '(\S+)'", r"unknown option \1"),
    (r"option '([^']*)' requires an argument", r"\1 needs a value"),
    (
        rf"got unexpected extra arguments? \(([{DASHES}]+)(\S+).*\)",
        r"'\1\2' begins with a dash, not with hyphens: type --\2",
    ),
    (r"got unexpected extra arguments? \((.*)\)", r"unexpected argument: \1"),
)


def explain_parser_error(error: Any, command: str = "") -> str:
    """The error on one line, with the command whose help explains it; `command` if the parser names none."""
    context = error.ctx
    if context is not None:
        command = context.info_name if context.parent is not None else ""
    command = f" {command}" if command else ""
    text = error.format_message().rstrip(".")
    words = translate_message(text[:1].lower() + text[1:])
    return words if words.endswith("?)") else f"{words} (see tuibench{command} --help)"


def option_hint(argument: str) -> str:
    """How to write an argument that is not an option."""
    name = argument.lstrip(DASHES)
    return f"it begins with a dash, not with hyphens: type --{name}" if name != argument else OPTION_EXAMPLE


def translate_message(text: str) -> str:
    """Replacement from the table, otherwise the text itself."""
    for pattern, words in MESSAGES:
        if found := re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL):
            return found.expand(words)
    return text
