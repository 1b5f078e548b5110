"""`tuibench sessions` and `ctl`: the running sessions of this user, and one command to one of them."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Literal

import click
import msgspec
from msgspec.structs import asdict

from tuibench import sanitize
from tuibench.cli.click_command import Argument
from tuibench.cli.commands import ctl_verbs
from tuibench.cli.formats import JSON, TEXT, TextOrJson, align_columns, check_format, echo_json, table_width
from tuibench.cli.output import info
from tuibench.cli.run_output import run_notes
from tuibench.cli.runner import fetch_hello, find_session_socket, run_async
from tuibench.errors import ExitCode, RunError, SessionUnreachableError, UsageError
from tuibench.metrics.figures import read
from tuibench.model.command import Command, Stop, WatchStatements
from tuibench.model.effect import AbTestResult, EffectProgress
from tuibench.model.environment import StatementReport
from tuibench.model.message import CommandReply, Hello, RunState, SessionEnded, Status
from tuibench.model.notation import format_delay, format_weights
from tuibench.model.option import Option
from tuibench.model.sample import Sample
from tuibench.model.schedule import PlanPhase, PlanProgress, format_schedule
from tuibench.model.settings import SettingState
from tuibench.model.tick import Tick
from tuibench.report.analysis import statements_text
from tuibench.service import registry
from tuibench.service.client import SessionClient
from tuibench.service.registry import SessionEntry
from tuibench.units import DASH, count, decimal, hms, milliseconds

NO_ANSWER = "no answer"


class SessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One session; unknown values are None. `note` is the reason why one does not answer."""

    session: str
    profile: str | None = None
    server: str | None = None
    user: str | None = None
    state: str = NO_ANSWER
    threads: int | None = None
    rate: float | None = None
    elapsed_seconds: float | None = None
    transactions_per_second: float | None = None
    viewers: int | None = None
    pid: int
    socket: str
    run_directory: str | None = None
    note: str = ""
    metrics: str | None = None


def sessions(
    output: TextOrJson = TEXT,
) -> None:
    """Sessions that do not answer are listed with the reason; files of ended ones are removed."""
    check_format(output)
    lines = [session_line(entry) for entry in run_async(registry.running_sessions())]
    if output == JSON:
        echo_json(lines)
        return
    if not lines:
        info("no session is running (start one with tuibench live … or run … --detach)")
        return
    click.echo(sessions_table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    for line in lines:
        if line.note:
            info(f"{line.session}, process {line.pid}: {line.note}")


def session_line(entry: SessionEntry) -> SessionLine:
    """Line of a session in the list."""
    silent = SessionLine(session=entry.name, pid=entry.pid, socket=str(entry.path), note=entry.error)
    return silent if entry.hello is None else _with_hello(silent, entry.hello)


def _with_hello(line: SessionLine, hello: Hello) -> SessionLine:
    figures = hello.samples[-1].throughput if hello.samples else None
    return msgspec.structs.replace(
        line,
        profile=hello.plan.profile,
        server=hello.target.where,
        user=hello.target.user,
        state=str(hello.status.state),
        threads=hello.status.threads,
        rate=hello.status.rate,
        elapsed_seconds=hello.elapsed_seconds,
        transactions_per_second=read("tps", figures),
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        metrics=hello.metrics or None,
    )


HEADINGS = ("session", "profile", "target", "state", "threads", "elapsed", "TPS", "viewers")
FIRST_NUMERIC_COLUMN, TARGET = HEADINGS.index("threads"), HEADINGS.index("target")
MIN_TARGET_WIDTH = 12


def sessions_table(lines: Sequence[SessionLine], room: int | None = None) -> str:
    """The list as text: heading, one line each, numbers right-aligned; targets are shortened to the room."""
    rows = [HEADINGS, *(_cells(line) for line in lines)]
    if room is not None:
        widest = max(len(row[TARGET]) for row in rows)
        width = max(MIN_TARGET_WIDTH, widest - max(0, table_width(rows) - room))
        rows = [(*row[:TARGET], _shorten_start(row[TARGET], width), *row[TARGET + 1 :]) for row in rows]
    return align_columns(rows, FIRST_NUMERIC_COLUMN)


def _shorten_start(text: str, width: int) -> str:
    """Shorten a path at its start: its end identifies it better."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _cells(line: SessionLine) -> tuple[str, ...]:
    elapsed = DASH if line.elapsed_seconds is None else hms(line.elapsed_seconds)
    return (
        line.session,
        line.profile or DASH,
        DASH if line.server is None else f"{line.user}@{line.server}",
        line.state,
        count(line.threads),
        elapsed,
        decimal(line.transactions_per_second, 1),
        count(line.viewers),
    )


class ServerSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Server of a session."""

    where: str
    flavour: str
    version: str


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a session as JSON, with the newest sample, None before the first.

    `rate` is in transactions per second, 0 for no limit; `plan` is the progress of a planned load, `ab` the
    result of an A/B test so far.
    """

    schema: Literal["tuibench.status/1"] = "tuibench.status/1"
    session: str
    pid: int
    version: str
    profile: str
    server: ServerSummary
    elapsed_seconds: float
    viewers: int
    run_directory: str
    state: RunState
    threads: int
    rate: float
    weights: dict[str, float]
    client_delay_ms: float
    plan: PlanProgress | None
    workers: int
    settings: tuple[SettingState, ...]
    production_signs: tuple[str, ...]
    warnings: tuple[str, ...]
    ab: AbTestResult | None
    effect: EffectProgress | None
    sample: Sample | None


def session_status(hello: Hello) -> SessionStatus:
    """Status for programs, from a session's hello message."""
    now = {name: value for name, value in asdict(hello.status).items() if name != "presets"}
    return SessionStatus(
        session=hello.session,
        pid=hello.pid,
        version=hello.version,
        profile=hello.plan.profile,
        server=ServerSummary(
            where=hello.target.where, flavour=hello.server.flavour, version=hello.server.version
        ),
        elapsed_seconds=hello.elapsed_seconds,
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        sample=hello.samples[-1] if hello.samples else None,
        **now,
    )


def status_text(hello: Hello) -> str:
    """Status as text of a few lines."""
    now, plan, server = hello.status, hello.plan, hello.server
    limit = f" of {hms(plan.seconds)}" if plan.seconds else ""
    figures = hello.samples[-1].throughput if hello.samples else None
    lines = [
        f"{hello.session}: {now.state}, {hms(hello.elapsed_seconds)}{limit}, viewers: {hello.viewers}",
        f"{plan.profile} on {server.flavour} {server.version}, {hello.target.user}@{hello.target.where}",
        *([] if plan.is_watch else [_asked_text(now)]),
        *([f"plan: {_plan_text(now.plan)}"] if now.plan else []),
        *([f"weights: {format_weights(now.weights)}"] if now.weights else []),
        *([f"simulated network delay: {format_delay(now.client_delay_ms)}"] if now.client_delay_ms else []),
        *([] if figures is None else [_figures_text(figures)]),
        *(
            f"{setting.name}: {setting.value}" + (f" (was {setting.original})" if setting.changed else "")
            for setting in now.settings
            if setting.changed or setting.at_risk
        ),
        *([f"A/B: {now.ab.sentence}"] if now.ab else []),
        *([f"measuring the effect of {now.effect.change}"] if now.effect else []),
        *(f"warning: {warning}" for warning in now.warnings),
    ]
    return "\n".join(map(sanitize.text, lines))


def _plan_text(plan: PlanProgress) -> str:
    """Stages of the plan, and the current one."""
    stages = format_schedule(plan.stages)
    if plan.phase is PlanPhase.OVER:
        return f"{stages}, over"
    following = f"{plan.following} in" if plan.following else "ends in"
    place = f"stage {plan.stage} of {len(plan.stages)}"
    return f"{stages}, {place}, {plan.phase}, {following} {hms(plan.left_seconds)}"


def _asked_text(now: Status) -> str:
    """Current load settings."""
    return f"threads: {now.threads:,}" + (f", rate: {now.rate:,g}/s" if now.rate else "")


def _figures_text(load: Tick) -> str:
    p95 = milliseconds(read("p95", load))
    tps, qps, errors = (read(name, load) or 0.0 for name in ("tps", "qps", "errors_per_second"))
    if "rollbacks" in load.sums:
        return f"commits/s: {tps:,.1f}, QPS: {qps:,.1f}, p95: {p95}"
    backlog = f", backlog: {read('backlog', load) or 0:,.0f}" if read("target_rate", load) else ""
    return f"TPS: {tps:,.1f}, QPS: {qps:,.1f}, p95: {p95}, errors/s: {errors:,.1f}{backlog}"


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
    session, name, rest = ctl_verbs.split_words(words)
    check_format(output)
    if wait and name != "stop":
        raise UsageError(f"--wait is for stop, not for {name}")
    if name == ctl_verbs.STATUS:
        _print_status(session, rest, output)
        return
    if name == ctl_verbs.STATEMENTS:
        _print_statements(session, rest, output, timeout)
        return
    command = ctl_verbs.VERBS_BY_NAME[name].command(rest)
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


ctl.__doc__ = f"{getdoc(ctl)}\n\n\b\n{ctl_verbs.verbs_help()}"


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
