"""`tuibench ctl`: one command for a running session, its answer on stdout."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tuibench.cli import verbs
from tuibench.cli.finding import RunDir, asked, look_in, socket_of
from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.loop import run_async
from tuibench.cli.notes import notes
from tuibench.cli.status import standing, status_text
from tuibench.cli.talk import say
from tuibench.errors import ExitCode, RunError, SessionAwayError, UsageError
from tuibench.model.command import Command, Stop
from tuibench.model.message import Answer, Ended
from tuibench.session.client import SessionClient

DETAILS = (
    "The session is named by its id or a unique part of it; it may be left out when there is just one. "
    "Its answer goes to stdout, a refusal to stderr. "
    "Exit codes: 1 refused, 2 wrong usage, 3 no such session.\n\n"
    "\b\n" + verbs.listed()
)
ANSWER_SECONDS = 60.0


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a session says to a command that it took; a refusal is an error."""

    answer: str


def ctl(
    words: Annotated[
        list[str], typer.Argument(metavar="[ID] COMMAND …", help="What to do, and in which session.")
    ],
    output: TextOrJson = TEXT,
    wait: Annotated[
        bool, typer.Option("--wait", help="With stop: wait for the end, and print the summary.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds that a command's answer may take.")
    ] = ANSWER_SECONDS,
    run_dir: RunDir = "",
) -> None:
    session, name, rest = verbs.split(words)
    demand_format(output)
    if wait and name != "stop":
        raise UsageError(f"--wait is for stop, not for {name}")
    look_in(run_dir)
    if name == verbs.STATUS:
        _status(session, rest, output)
        return
    command = verbs.BY_NAME[name].command(rest)
    socket = socket_of(session)
    if wait:
        raise typer.Exit(_tell(run_async(_stopped(socket)), output))
    answer = run_async(_answered(socket, command, timeout))
    if not answer.ok:
        raise RunError(answer.text)
    if output == JSON:
        echo_json(Answered(answer=answer.text))
    else:
        typer.echo(answer.text)


def _status(session: str, rest: list[str], output: str) -> None:
    if rest:
        raise UsageError(f"ctl status takes nothing after it, not '{rest[0]}'")
    hello = run_async(asked(socket_of(session)))
    if output == JSON:
        echo_json(standing(hello))
    else:
        typer.echo(status_text(hello))


async def _answered(socket: Path, command: Command, seconds: float) -> Answer:
    """What the session answers. Raises SessionAwayError when it takes too long."""
    client = await SessionClient.connect(socket)
    try:
        async with asyncio.timeout(seconds):
            return await client.submit(command)
    except TimeoutError as error:
        raise SessionAwayError(
            f"no answer in {seconds:g} s", "the session may still do it; ask with tuibench ctl status"
        ) from error
    finally:
        await client.close()


async def _stopped(socket: Path) -> Ended:
    """Stops a session and waits for its last word. Raises SessionAwayError when it goes without one."""
    client = await SessionClient.join(socket, samples=0)
    try:
        stopping = asyncio.create_task(client.submit(Stop()))
        async for news in client.messages():
            if isinstance(news, Ended):
                return news
    finally:
        stopping.cancel()
        await client.close()
    raise SessionAwayError("the session ended without a summary", "tuibench restore says what is left to do")


def _tell(ended: Ended, output: str) -> ExitCode:
    """The summary on stdout, the rest on stderr; the exit code of the run."""
    if output == JSON:
        echo_json(ended.summary)
    else:
        typer.echo(ended.text, nl=False)
    for line in notes(ended.summary, ended.run_directory):
        say(line)
    return ExitCode(ended.exit_code)
