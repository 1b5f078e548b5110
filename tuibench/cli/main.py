"""Entry point of `tuibench`: runs a command, prints an error as one line, exits with the exit code.

The module of a command is imported when the command is called, so that help and usage errors are fast.
"""

import os
import sys
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tuibench import __version__
from tuibench.base.errors import ExitCode, TuibenchError
from tuibench.base.feature import CommandSection, command_entries
from tuibench.cli import arguments, help_layout, kept_help
from tuibench.cli.output import exit_on_broken_pipe, failure, info, open_closed_streams
from tuibench.cli.parameters import adopt

ENTRIES = {entry.name: entry for entry in command_entries()}
COMMANDS = {entry.name: entry.summary for entry in ENTRIES.values()}
"""All commands, each with its line in the help."""
FIRST = ("demo", "live", "run", "watch", "prepare", "doctor", "probe", "tune", "report", "compare")
"""The commands that one needs, in the order in which one needs them; the help lists them first."""


def command_module(name: str) -> ModuleType:
    """Import the module of a command, in which the function has the command's name."""
    return import_module(ENTRIES[name].module)


class LazyGroup(TyperGroup):
    """Lists commands from the table, and imports only the called one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        adopt(self.params)
        self.help = help_layout.unbroken(self.help or "")

    def get_help(self, ctx: Any) -> str:
        return help_layout.with_hyphens(super().get_help(ctx))

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        adopt([option] if option is not None else [])
        return option

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return help_layout.option_items(self, ctx, incomplete)
        commands = COMMANDS.items()
        return [CompletionItem(name, help=text) for name, text in commands if name.startswith(incomplete)]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name not in COMMANDS or cmd_name in self.commands:
            return cast("TyperCommand | None", self.commands.get(cmd_name))
        module = command_module(cmd_name)
        command = getattr(module, cmd_name)
        from tuibench.cli.typer_command import build_command

        self.commands[cmd_name] = built = build_command(
            command,
            name=cmd_name,
            help=COMMANDS[cmd_name] + "\n\n" + (getdoc(command) or ""),
            context_settings=getattr(module, "CONTEXT", {"help_option_names": ["--help"]}),
        )
        return built

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with exit_on_broken_pipe():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with exit_on_broken_pipe():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        help_layout.write_rows(formatter, "Commands", [(f"{name:<8}", COMMANDS[name]) for name in FIRST])
        for section in CommandSection:
            others = (one for one in ENTRIES.values() if one.section is section and one.name not in FIRST)
            rows = [(f"{one.name:<8}", one.summary) for one in others]
            if section is not CommandSection.HIDDEN and rows:
                help_layout.write_rows(formatter, f"More: {section[0].lower()}{section[1:]}", rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            arguments.raise_unknown_command(name, COMMANDS, args[1:])
        return super().resolve_command(ctx, args)


def _install_completion(shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli import completion

        info(completion.install_completion(shell))
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli import completion

        typer.echo(completion.completion_script(shell), nl=False)
        raise typer.Exit


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from tuibench.base.installation import engine_line, installer_line

        typer.echo(f"tuibench {__version__}\nengine: {engine_line()}\ninstalled: {installer_line()}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help"], "max_content_width": kept_help.MAX_WIDTH},
)


@app.callback()
def tuibench(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show version and engine, and exit."
        ),
    ] = False,
    install_completion: Annotated[
        str | None,
        typer.Option(
            metavar="SHELL",
            callback=_install_completion,
            is_eager=True,
            help="Set up completion by Tab of commands, options, profiles and runs in bash, zsh or fish.",
        ),
    ] = None,
    show_completion: Annotated[
        str | None,
        typer.Option(
            metavar="SHELL", callback=_show_completion, is_eager=True, help="Print the completion script."
        ),
    ] = None,
) -> None:
    """Drive an OLTP load into MySQL or MariaDB, watch it, and steer it live.

    For a first look without a server of your own: tuibench demo. Each command explains itself, with examples:
    tuibench run --help.
    """


def program() -> LazyGroup:
    """The parser of the program."""
    return cast("LazyGroup", get_command(app))


def help_page(parser: LazyGroup, command: str) -> str:
    """The help of a command, or of the program if empty, for the width of the terminal."""
    context = typer.Context(parser, info_name="tuibench", **parser.context_settings)
    found = parser.get_command(context, command) if command else None
    if found is not None:
        context = typer.Context(found, info_name=command, parent=context, **found.context_settings)
    return context.get_help()


def keep_help() -> None:
    """Keep the help of all commands, at the set-up."""
    parser = program()
    for width in kept_help.USUAL_WIDTHS:
        os.environ["COLUMNS"] = str(width)
        for command in ("", *COMMANDS):
            kept_help.keep(command, width, help_page(parser, command))


def main() -> None:
    """Entry point of the program; ends the process with one of `ExitCode`."""
    open_closed_streams()
    try:
        parser = program()
        if arguments.COMPLETE_VARIABLE in os.environ:
            from tuibench.cli import completion

            typer.echo(completion.shell_reply(parser), nl=False)
            sys.exit(ExitCode.DONE)
        line = arguments.SysbenchLine()
        # Without arguments: the start screen on a terminal, otherwise the help.
        are_terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        sys.argv[1:] = arguments.normalize(sys.argv[1:], COMMANDS, line) or (
            ["start"] if are_terminals else ["--help"]
        )
        asked = kept_help.asked_page(sys.argv[1:])
        if asked is not None and asked in ("", *COMMANDS):
            with exit_on_broken_pipe():
                page = help_page(parser, asked)
                if not sys.dont_write_bytecode:
                    kept_help.keep(asked, kept_help.page_width(), page)
                typer.echo(page)
            sys.exit(ExitCode.DONE)
        sys.exit(parser.main(prog_name="tuibench", standalone_mode=False, obj=line) or ExitCode.DONE)
    except TuibenchError as error:
        failure(str(error))
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        from tuibench.cli.usage_errors import usage_error

        meant = next((word for word in sys.argv[1:2] if word in COMMANDS), "")
        failure(str(usage_error(error, meant)))
        sys.exit(ExitCode.USAGE_ERROR)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        from tuibench.session.lifecycle import internal_error_text

        failure(internal_error_text(error))
        sys.exit(ExitCode.RUN_FAILED)
