"""The program `tuibench`: finds the command, prints an error as one line, ends with its exit code.

A command's module is imported when it is called, so that help and mistakes are answered at once.
"""

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from tuibench import __version__
from tuibench.cli import arguments, streams, values
from tuibench.cli.outlet import read_by_somebody
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, TuibenchError

SECTIONS = {
    "Put load on a server": {
        "start": "Choose server and load on a form, then open the live monitor.",
        "demo": "Start a private server, load small data, open the live monitor.",
        "live": "Open the live monitor on a given server.",
        "run": "Drive a load without a screen: interval lines, then the summary.",
        "probe": "Find the saturation point: step the load up, and say what limits it.",
        "sweep": "Run a load under every combination of threads and settings: one table.",
        "slap": "Run mysqlslap's test: many clients, so many queries, how many seconds.",
    },
    "Tables and profiles": {
        "prepare": "Make the tables of a profile.",
        "check": "Look whether the tables of a data set agree with each other.",
        "cleanup": "Drop the tables of a profile.",
        "profiles": "List the profiles, show one, or check a file.",
    },
    "The server": {
        "doctor": "Look whether server, host and data are ready for a load.",
        "settings": "List the settings that can be changed: value, meaning, risk, what forbids it.",
        "restore": "Put back the settings that a crashed session left changed.",
    },
    "Running sessions": {
        "sessions": "List the sessions that run on this machine.",
        "attach": "Open the live monitor on a running session.",
        "ctl": "Steer a running session: threads, rate, settings, pause, marks, stop.",
        "web": "Show a running session in the browser.",
    },
    "Recorded runs": {
        "runs": "List recorded runs, show one, remove some.",
        "report": "Print a recorded run: sysbench's text, JSON, CSV, Markdown, or a page with charts.",
        "replay": "Show a recorded run in the live screens, without a server.",
        "compare": "Compare recorded runs: what differs, each figure with its interval and a verdict.",
    },
}
"""The commands by what they are about. Each is the function of its own name in the module of its name."""

COMMANDS = {name: words for section in SECTIONS.values() for name, words in section.items()}
WIDTH = 100
"""Columns of the widest help; a narrower terminal gets less."""

PARSER_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""All that can be wrong with a command line. Typer has no name of its own for it."""


class LazyGroup(TyperGroup):
    """Lists commands from the table, and imports only the one that is called."""

    def get_params(self, ctx: Any) -> list[Any]:
        return values.quick(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tuibench.cli.{cmd_name}")
        from tuibench.cli.help import Command

        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(
            cmd_name,
            cls=Command,
            help=COMMANDS[cmd_name] + "\n\n" + (getattr(module, "DETAILS", "")),
            context_settings=getattr(module, "CONTEXT", {"help_option_names": ["--help"]}),
        )(getattr(module, cmd_name))
        return typer.main.get_command(single)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with read_by_somebody():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with read_by_somebody():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<8}", words) for name, words in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            arguments.unknown_command(name, COMMANDS)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help"], "max_content_width": WIDTH},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tuibench {__version__}")
        raise typer.Exit


def _install_completion(shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli.completion import setup

        say(setup.installed(shell))
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        from tuibench.cli.completion import setup

        typer.echo(setup.shown(shell), nl=False)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
    install_completion: str | None = typer.Option(
        None,
        metavar="SHELL",
        callback=_install_completion,
        is_eager=True,
        help="Complete commands, options, profiles and runs by Tab, in bash, zsh or fish.",
    ),
    show_completion: str | None = typer.Option(
        None, metavar="SHELL", callback=_show_completion, is_eager=True, help="Print the script for that."
    ),
) -> None:
    """Drive an OLTP load into MySQL or MariaDB, watch it, and steer it live.

    For a first look without a server of your own: tuibench demo. Each command explains itself, with examples:
    tuibench run --help.
    """


def main() -> None:
    """Entry point of the program; ends the process with one of `ExitCode`."""
    streams.complete()
    try:
        if arguments.COMPLETE in os.environ:
            sys.exit(_complete())
        sys.argv[1:] = arguments.normalised(sys.argv[1:], COMMANDS) or _alone()
        sys.exit(app(prog_name="tuibench", standalone_mode=False) or ExitCode.DONE)
    except TuibenchError as error:
        say(f"tuibench: {error}")
        sys.exit(error.exit_code)
    except PARSER_ERROR as error:
        from tuibench.cli import misreading

        meant = next((word for word in sys.argv[1:2] if word in COMMANDS), "")
        say(f"tuibench: {misreading.said(error, meant)}")
        sys.exit(ExitCode.WRONG_USAGE)
    except typer.Abort:
        sys.exit(ExitCode.INTERRUPTED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        say(f"tuibench: {_mishap(error)}")
        sys.exit(ExitCode.RUN_FAILED)


def _complete() -> ExitCode:
    """Tells the shell that asks what may stand at a place of its command line."""
    from tuibench.cli.completion import shells

    group: Any = typer.main.get_command(app)
    typer.echo(shells.answer(COMMANDS, lambda name: group.get_command(None, name)), nl=False)
    return ExitCode.DONE


def _alone() -> list[str]:
    """The program without arguments: the start screen on a terminal, else the help."""
    are_terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return ["start"] if are_terminals else ["--help"]


def _mishap(error: Exception) -> str:
    """A mistake of ours: one line for the user, the details in a file; without one, where it happened."""
    import traceback

    from tuibench import paths

    said = f"this is a mistake of tuibench, not yours: {type(error).__name__}: {error}"
    try:
        file = paths.private(paths.state_dir()) / "crash.log"
        file.write_text("".join(traceback.format_exception(error)), errors="replace")
    except OSError:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{said} (in {last.name}, {last.filename}:{last.lineno})"
    return f"{said} (details in {file})"
