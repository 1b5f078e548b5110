"""`tuibench ctl`: sends one command to a running session and prints its reply."""

import asyncio
from inspect import getdoc
from pathlib import Path
from typing import Annotated

import click
import msgspec

from tuibench import sanitize
from tuibench.cli.commands.ctl import verbs
from tuibench.cli.commands.ctl.status import session_status, status_text
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.output.log import info
from tuibench.cli.output.run_notes import run_notes
from tuibench.cli.parsing.click_command import Argument
from tuibench.cli.runner.event_loop import run_async
from tuibench.cli.runner.session_lookup import fetch_hello, find_session_socket
from tuibench.errors import ExitCode, RunError, SessionUnreachableError, UsageError
from tuibench.model.command import Command, Stop, WatchStatements
from tuibench.model.measurements.activity import StatementReport
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import CommandReply, SessionEnded
from tuibench.model.option import Option
from tuibench.record.report.statement_text import statements_text
from tuibench.session.service.client import SessionClient

ANSWER_TIMEOUT_SECONDS = 60.0


class CommandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Reply of a session to an accepted command; a refusal is an error."""

    answer: str


def ctl(
    words: Annotated[
        list[str], Argument(metavar="[ID] COMMAND …", help="Command, after the id of the session.")
    ],
    output: TextOrJson = TEXT,
    wait: Annotated[
        bool, Option("--wait", help="With stop: wait for the end, and print the summary.")
    ] = False,
    timeout: Annotated[
        float, Option("--timeout", metavar="SECONDS", help="Time limit for the reply in seconds.")
    ] = ANSWER_TIMEOUT_SECONDS,
) -> None:
    """Name the session by its id or a unique part of it; if there is only one, the id can be omitted. The
    reply is printed on stdout, a refusal on stderr. Exit codes: 1 refused, 2 usage error, 3 no such
    session.
    """
    session, name, rest = verbs.split_words(words)
    check_format(output)
    if wait and name != "stop":
        raise UsageError(f"--wait is for stop, not for {name}")
    if name == verbs.STATUS:
        _print_status(session, rest, output)
        return
    if name == verbs.STATEMENTS:
        _print_statements(session, rest, output, timeout)
        return
    command = verbs.VERBS_BY_NAME[name].command(rest)
    socket = find_session_socket(session)
    if wait:
        raise click.exceptions.Exit(_print_summary(run_async(_stop_and_wait(socket)), output))
    answer = run_async(_submit(socket, command, timeout))
    if not answer.ok:
        raise RunError(answer.text)
    if output == JSON:
        echo_json(CommandAnswer(answer=answer.text))
    else:
        click.echo(sanitize.text(answer.text))


ctl.__doc__ = f"{getdoc(ctl)}\n\n\b\n{verbs.verbs_help()}"


def _print_status(session: str, rest: list[str], output: str) -> None:
    if rest:
        raise UsageError(f"ctl status takes no argument, not '{rest[0]}'")
    hello = run_async(fetch_hello(find_session_socket(session)))
    if output == JSON:
        echo_json(session_status(hello))
    else:
        click.echo(status_text(hello))


def _print_statements(session: str, rest: list[str], output: str, timeout: float) -> None:
    if rest:
        raise UsageError(f"ctl statements takes no argument, not '{rest[0]}'")
    report = run_async(_read_statements(find_session_socket(session), timeout))
    if output == JSON:
        echo_json(report)
    else:
        click.echo(statements_text(report))


async def _read_statements(socket: Path, seconds: float) -> StatementReport:
    """Poll until the session has read the server twice, so that the report covers a span of time."""
    client = await SessionClient.join(socket, samples=0, read_only=True)
    try:
        async with asyncio.timeout(seconds):
            await client.submit(WatchStatements())
            async for news in client.messages():
                if isinstance(news, Sample):
                    await client.submit(WatchStatements())
                if isinstance(news, StatementReport) and news.seconds:
                    return news
    except TimeoutError:
        pass
    finally:
        await client.close()
    raise SessionUnreachableError(
        f"the session has read no statements in {seconds:g} s", "--timeout=60 waits longer"
    )


async def _submit(socket: Path, command: Command, seconds: float) -> CommandReply:
    """Submit a command and return the reply. Raises SessionAwayError on timeout."""
    client = await SessionClient.connect(socket)
    try:
        async with asyncio.timeout(seconds):
            return await client.submit(command)
    except TimeoutError as error:
        raise SessionUnreachableError(
            f"no reply within {seconds:g} s",
            "the session may still execute it; check with tuibench ctl status",
        ) from error
    finally:
        await client.close()


async def _stop_and_wait(socket: Path) -> SessionEnded:
    """Stop a session and wait for its end message. Raises SessionAwayError if there is none."""
    client = await SessionClient.join(socket, samples=0)
    try:
        stopping = asyncio.create_task(client.submit(Stop()))
        async for news in client.messages():
            if isinstance(news, SessionEnded):
                return news
    finally:
        stopping.cancel()
        await client.close()
    raise SessionUnreachableError(
        "the session ended without a summary", "tuibench restore lists the settings that remain"
    )


def _print_summary(ended: SessionEnded, output: str) -> ExitCode:
    """Print the summary on stdout, the rest on stderr; returns the exit code of the run."""
    if output == JSON:
        echo_json(ended.summary)
    else:
        click.echo(ended.text, nl=False)
    for line in run_notes(ended.summary, ended.run_directory):
        info(line)
    return ExitCode(ended.exit_code)
