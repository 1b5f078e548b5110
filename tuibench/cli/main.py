"""Entry point of `tuibench`: runs a command, prints an error as one line, exits with the exit code.

The module of a command is imported when the command is called, so that help and usage errors are fast.
"""

import os
import sys
from importlib import import_module
from inspect import getdoc
from types import ModuleType
from typing import Any

import click

from tuibench import __version__
from tuibench.base.errors import ExitCode, TuibenchError
from tuibench.base.feature import CommandSection, command_entries
from tuibench.cli import arguments
from tuibench.cli.output import exit_on_broken_pipe, failure, info, open_closed_streams

ENTRIES = {entry.name: entry for entry in command_entries()}
COMMANDS = {entry.name: entry.summary for entry in ENTRIES.values()}
"""All commands, each with its line in the help."""
WIDTH = 100
"""Maximum width of the help in columns."""


def command_module(name: str) -> ModuleType:
    """Import the module of a command, in which the function has the command's name."""
    return import_module(ENTRIES[name].module)


class LazyGroup(click.Group):
    """Lists commands from the table, and imports only the called one."""

    context_class = arguments.HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = command_module(cmd_name)
        command = getattr(module, cmd_name)
        from tuibench.cli.click_command import build_command

        return build_command(
            command,
            name=cmd_name,
            help=COMMANDS[cmd_name] + "\n\n" + (getdoc(command) or ""),
            context_settings=getattr(module, "CONTEXT", {"help_option_names": ["--help"]}),
        )

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with exit_on_broken_pipe():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with exit_on_broken_pipe():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in CommandSection:
            rows = [(f"{one.name:<8}", one.summary) for one in ENTRIES.values() if one.section is section]
            if section is not CommandSection.HIDDEN and rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            arguments.raise_unknown_command(name, COMMANDS, args[1:])
        return super().resolve_command(ctx, args)


def _install_completion(ctx: click.Context, option: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli import completion

        info(completion.install_completion(shell))
        ctx.exit()


def _show_completion(ctx: click.Context, option: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli import completion

        click.echo(completion.completion_script(shell), nl=False)
        ctx.exit()


def _show_version(ctx: click.Context, option: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        from tuibench.base.installation import engine_line

        click.echo(f"tuibench {__version__}\nengine: {engine_line()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["--help"], "max_content_width": WIDTH})
@click.option(
    "--version",
    callback=_show_version,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    help="Show version and engine, and exit.",
)
@click.option(
    "--install-completion",
    metavar="SHELL",
    callback=_install_completion,
    is_eager=True,
    expose_value=False,
    help="Set up completion by Tab of commands, options, profiles and runs in bash, zsh or fish.",
)
@click.option(
    "--show-completion",
    metavar="SHELL",
    callback=_show_completion,
    is_eager=True,
    expose_value=False,
    help="Print the completion script.",
)
def app() -> None:
    """Drive an OLTP load into MySQL or MariaDB, watch it, and steer it live.

    For a first look without a server of your own: tuibench demo. Each command explains itself, with examples:
    tuibench run --help.
    """


def main() -> None:
    """Entry point of the program; ends the process with one of `ExitCode`."""
    open_closed_streams()
    try:
        if arguments.COMPLETE_VARIABLE in os.environ:
            from tuibench.cli import completion

            click.echo(completion.shell_reply(COMMANDS, lambda name: app.get_command(None, name)), nl=False)
            sys.exit(ExitCode.DONE)
        line = arguments.SysbenchLine()
        # Without arguments: the start screen on a terminal, otherwise the help.
        are_terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        sys.argv[1:] = arguments.normalize(sys.argv[1:], COMMANDS, line) or (
            ["start"] if are_terminals else ["--help"]
        )
        sys.exit(app(prog_name="tuibench", standalone_mode=False, obj=line) or ExitCode.DONE)
    except TuibenchError as error:
        failure(str(error))
        sys.exit(error.exit_code)
    except click.ClickException as error:
        from tuibench.cli import click_command

        meant = next((word for word in sys.argv[1:2] if word in COMMANDS), "")
        failure(click_command.explain_parser_error(error, meant))
        sys.exit(ExitCode.USAGE_ERROR)
    except click.Abort:
        sys.exit(ExitCode.INTERRUPTED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        from tuibench.session.lifecycle import internal_error_text

        failure(internal_error_text(error))
        sys.exit(ExitCode.RUN_FAILED)
