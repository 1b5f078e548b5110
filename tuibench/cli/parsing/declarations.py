"""Declarations of options and arguments, with which functions and option groups are annotated.

    def run(context: click.Context, server: ServerOptions, profile: Annotated[str, Argument(help="…")] = "")

Each parameter is an option, an argument, or a dataclass whose fields are options that several commands share;
`click_command.build_command` makes click's parameters of them. `Annotated[Group, OmitOptions("threads")]`
leaves fields out: they keep their defaults. A dataclass's `SECTION` is its section of the help, unless an
option names another.
"""

from typing import Any


class Option:
    """An option by its names; without names it has that of its parameter."""

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
    """The fields of a group that a command does not have as options."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


def help_with_default(help: str, default: Any) -> str:
    """The help with the default in brackets, as sysbench has it: `Arguments [5].`"""
    if default is None or default is False or not str(default).strip():
        return help
    text = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{help.removesuffix('.')} [{text}]."
