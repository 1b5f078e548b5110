"""The layout of a command's help: sections in one order, then examples."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from tuibench.base.feature import command_entries
from tuibench.cli.parameters import adopt

NAME_COLUMN_WIDTH = 34
"""Maximum width of option names; the text of longer ones starts on the next line."""

OPTIONS, OTHER_OPTIONS = "Options", "Other"
SECTION_ORDER = (
    "Arguments",
    OPTIONS,
    "Load",
    "Callers",
    "Connections",
    "Transactions",
    "Several hosts",
    "Output",
    "Server",
    "Your own SQL",
    "Private servers",
    "A/B trial",
    "Screening",
    "Profiles of real traffic",
    "In the background",
    "Screen",
    "Scene",
    OTHER_OPTIONS,
)
"""Order of the sections in the help. A command's own options come first, common options last."""

COMMON_OPTIONS = frozenset({"--help", "--run-dir", "--yes-this-server"})

UNBROKEN_HYPHEN = "\N{NON-BREAKING HYPHEN}"


def unbroken(text: str) -> str:
    """The text with hyphens at which a line is not broken; `SectionedCommand` writes them as hyphens."""
    return text.replace("-", UNBROKEN_HYPHEN)


def with_hyphens(text: str) -> str:
    """The text of `unbroken` as it was."""
    return text.replace(UNBROKEN_HYPHEN, "-")


def write_rows(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write names and their texts as a section of the help."""
    with formatter.section(title):
        formatter.write_dl([(name, unbroken(text)) for name, text in rows], NAME_COLUMN_WIDTH)


class SectionedCommand(TyperCommand):
    """A command whose help is divided into sections and ends with examples."""

    def get_help(self, ctx: Any) -> str:
        return with_hyphens(super().get_help(ctx))

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        adopt([option] if option is not None else [])
        return option

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The names in the order of their declaration; typer returns those of a set."""
        names = super().get_help_option_names(ctx)
        return [name for name in ctx.help_option_names if name in names]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        return option_items(self, ctx, incomplete) if incomplete.startswith("-") else []

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_argument_usage(each) for each in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        if found := [(_argument_usage(each), each.help or "") for each in self._arguments()]:
            write_rows(formatter, "Arguments", found)
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, TyperOption) and (record := each.get_help_record(ctx)):
                sections.setdefault(_section_of(each), []).append(record)
        if set(sections) <= {OPTIONS, OTHER_OPTIONS}:
            sections[OPTIONS] = sections.get(OPTIONS, []) + sections.pop(OTHER_OPTIONS)
        for title in sorted(sections, key=SECTION_ORDER.index):
            write_rows(formatter, title, sections[title])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if lines := example_lines(self.name or ""):
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in lines))

    def _arguments(self) -> list[TyperArgument]:
        return [each for each in self.params if isinstance(each, TyperArgument)]


def option_items(command: TyperCommand | TyperGroup, context: Any, unfinished: str) -> list[Any]:
    """The long names of options that begin so: the first of each, or the others if there is none."""
    from typer._click.shell_completion import CompletionItem

    first: list[CompletionItem] = []
    others: list[CompletionItem] = []
    for each in command.get_params(context):
        if isinstance(each, TyperOption) and not each.hidden:
            names = [name for name in each.opts if name.startswith("--")]
            for place, name in enumerate(names):
                is_alone = each.is_flag or each.count
                found = CompletionItem(name if is_alone else f"{name}=", help=each.help)
                (others if place else first).append(found)
    wanted = [item for item in first if item.value.startswith(unfinished)]
    return wanted or [item for item in others if item.value.startswith(unfinished)]


def example_lines(command: str) -> Sequence[str]:
    """The command lines of the examples in a command's help."""
    examples = (entry.examples for entry in command_entries() if entry.name == command)
    return [f"tuibench {command} {line}".rstrip() for line in next(examples, ())]


def _section_of(option: TyperOption) -> str:
    if not COMMON_OPTIONS.isdisjoint(option.opts):
        return OTHER_OPTIONS
    return option.rich_help_panel or OPTIONS


def _argument_usage(argument: TyperArgument) -> str:
    word = argument.metavar or ""
    return word if argument.required or word.startswith("[") else f"[{word}]"
