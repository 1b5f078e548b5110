"""Declarations of options and arguments, as annotations of functions and option groups.

    def run(context: click.Context, server: ServerOptions, profile: Annotated[str, Argument(help="…")] = "")

Each parameter is an option, an argument, or a dataclass whose fields are options that several commands share;
`click_command.build_command` converts them to click's parameters. `Annotated[Group, OmitOptions("threads")]`
omits fields, which keep their defaults. A dataclass's `SECTION` is its section of the help, unless an option
sets another.
"""

from typing import Any


class Option:
    """An option with its names; by default that of its parameter."""

    def __init__(
        self,
        *names: str,
        help: str = "",
        section: str = "",
        metavar: str | None = None,
        hidden: bool = False,
        show_default: bool = True,
        count: bool = False,
    ) -> None:
        self.names = names
        self.help = help
        self.section = section
        self.metavar = metavar
        self.hidden = hidden
        self.show_default = show_default
        self.count = count


class Argument:
    """A positional argument."""

    def __init__(self, *, help: str = "", metavar: str | None = None, show_default: bool = True) -> None:
        self.help = help
        self.metavar = metavar
        self.show_default = show_default


class OmitOptions:
    """Fields of a group that a command does not offer as options."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


def help_with_default(help: str, default: Any) -> str:
    """The help with the default in brackets, as in sysbench: `Arguments [5].`"""
    if default is None or default is False or not str(default).strip():
        return help
    text = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{help.removesuffix('.')} [{text}]."
