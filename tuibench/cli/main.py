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
from tuibench.cli import arguments
from tuibench.cli.output import exit_on_broken_pipe, failure, info, open_closed_streams

SECTIONS = {
    "Put load on a server": {
        "start": "Choose server and load on a form, then open the live screen.",
        "demo": "Start a private server, load small data, open the live screen.",
        "live": "Open the live screen on a given server.",
        "run": "Run a load without a screen: interval lines, then the summary.",
        "probe": "Find the saturation point and the bottleneck.",
        "tune": "Test settings on the running server by A/B tests, and rank them by effect.",
        "sweep": "Run a load under every combination of threads and settings: one table.",
        "versions": "Compare server programs on private servers: each test relative to the first.",
        "crash": "Kill a private server under load: what each setting gains, and which commits it loses.",
        "slap": "Run mysqlslap's test: the time that concurrent clients take for a number of queries.",
        "cluster": "Check the hosts of a load from several hosts.",
    },
    "Tables and profiles": {
        "prepare": "Create the tables of a profile.",
        "prewarm": "Read the tables of a profile into the server's buffer pool.",
        "check": "Check that the tables of a data set are consistent.",
        "cleanup": "Drop the tables of a profile.",
        "script": "Run a command that a Lua script has of its own.",
        "profiles": "List the profiles, show one, or check a file.",
    },
    "The server": {
        "watch": "Watch a server under its own traffic and change its settings, without adding load.",
        "doctor": "Check that server, host and data are ready for a load.",
        "settings": "List the settings that can be changed: value, meaning, risk, required privilege.",
        "restore": "Restore the settings that a crashed session left changed.",
    },
    "Running sessions": {
        "sessions": "List the sessions that run on this machine.",
        "attach": "Open the live screen on a running session.",
        "ctl": "Control a running session: threads, rate, settings, pause, marks, stop.",
        "web": "Show a running session in the browser.",
    },
    "Recorded runs": {
        "runs": "List recorded runs, show one, remove some.",
        "report": "Print a recorded run: sysbench's text, JSON, CSV, Markdown, or a page with charts.",
        "replay": "Show a recorded run in the live screens, without a server.",
        "compare": "Compare recorded runs: what differs, each figure with its interval and a verdict.",
        "flame": "Show which functions of the server used the processor, before and after a change.",
        "history": "Show the recorded runs of one plan over time, and where their level changed.",
        "bundle": "Pack runs or a sweep into one file to publish, without logins and host names.",
        "reproduce": "Run the measurement of a bundle here, and compare each figure.",
    },
}
"""The commands by subject, each with its line in the help."""

HIDDEN = {"agent": "Run load on this host for a session on another host, which starts it."}
"""Commands that only programs start; they are not listed in the help."""

COMMANDS = {name: words for section in SECTIONS.values() for name, words in section.items()} | HIDDEN
MODULES = {
    "start": "cli.run",
    "demo": "cli.demo",
    "live": "cli.run",
    "run": "cli.run",
    "versions": "features.sweep.execution",
    "prepare": "cli.tables",
    "prewarm": "cli.tables",
    "check": "cli.tables",
    "cleanup": "cli.tables",
    "script": "cli.tables",
    "profiles": "cli.profiles",
    "watch": "cli.server",
    "doctor": "cli.run",
    "settings": "cli.server",
    "restore": "cli.server",
    "sessions": "cli.sessions",
    "attach": "cli.run",
    "ctl": "cli.sessions",
    "web": "cli.web",
    "runs": "cli.records",
    "report": "cli.records",
    "replay": "cli.records",
    "flame": "features.flame.command",
    "history": "features.compare.command",
    "bundle": "features.sweep.reproduction",
    "reproduce": "features.sweep.reproduction",
    "agent": "features.cluster.command",
}
"""The modules of commands; a command that is not listed is in `command.py` of the feature with its name."""
WIDTH = 100
"""Maximum width of the help in columns."""


def command_module(name: str) -> ModuleType:
    """Import the module of a command, in which the function has the command's name."""
    return import_module(f"tuibench.{MODULES.get(name, f'features.{name}.command')}")


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
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<8}", words) for name, words in commands.items()])

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
