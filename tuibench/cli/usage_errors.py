"""Errors of the parser, and arguments that nothing takes, in our own words."""

import re
import sys
from collections.abc import Sequence

import typer

from tuibench.base.errors import UsageError
from tuibench.model.option import ELSEWHERE

HOSTS_OPTION = r"--(?:cluster(?:-(?:program|lease|hosts|ca|cert|key|insecure))?|on-host-loss)"
"""Options of a cluster run."""

DASHES = "‐‑‒–—―−"
"""Characters by which web pages and word processors replace hyphens."""

WITHOUT_HOSTS = "is an option of run, live, probe, sweep, tune, versions and demo"
OPTION_EXAMPLE = "options look like --table-size=1000"
LOGIN_EXAMPLE = "a password stands behind --password= or directly behind -p; without it, both ask"
MESSAGES = (
    (r"option '([^']*)' requires an argument", r"\1 needs a value"),
    (
        rf"got unexpected extra argument\(s\) \(([{DASHES}]+)(\S+).*\)",
        r"'\1\2' begins with a dash, not with hyphens: type --\2",
    ),
    (r"got unexpected extra argument\(s\) \((.*)\)", r"unexpected argument: \1"),
)


def usage_error(error: typer.TyperException, command: str = "") -> UsageError:
    """An error of the parser as ours. Without a better one, its hint is the command whose help explains it:
    that of the parser, or `command`.
    """
    context = getattr(error, "ctx", None)
    if context is not None:
        command = context.info_name if context.parent is not None else ""
    see = f"see tuibench{f' {command}' if command else ''} --help"
    if hasattr(error, "possibilities"):
        return _unknown_option(getattr(error, "option_name", ""), error.possibilities or (), see)
    text = error.format_message().rstrip(".")
    text = text[:1].lower() + text[1:]
    for pattern, words in MESSAGES:
        if found := re.fullmatch(pattern, text, re.DOTALL):
            text = found.expand(words)
    return UsageError(text, see)


def _unknown_option(name: str, near: Sequence[str], see: str) -> UsageError:
    if re.fullmatch(HOSTS_OPTION, name):
        return UsageError(f"{name} {WITHOUT_HOSTS}", see)
    hint = ELSEWHERE.get(name) or (f"did you mean '{near[0]}'?" if near else see)
    return UsageError(f"unknown option {name}", hint)


def option_hint(argument: str) -> str:
    """The hint for an unknown argument: the option that it means, or an example of an option."""
    name = argument.lstrip(DASHES)
    if name != argument:
        return f"it begins with a dash, not with hyphens: type --{name}"
    return LOGIN_EXAMPLE if "-p" in sys.argv[1:] else OPTION_EXAMPLE
