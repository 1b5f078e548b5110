"""`tuibench sessions` and `ctl`: the running sessions of this user, and one command to one of them.

For each verb of `ctl`, a function in this module makes the command that is sent.
"""

import asyncio
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec
import typer
from msgspec.structs import asdict, replace

from tuibench.base import numerals, sanitize
from tuibench.base.errors import ExitCode, RunError, SessionUnreachableError, UsageError, did_you_mean
from tuibench.base.units import DASH, count, decimal, hms, milliseconds, pluralize
from tuibench.cli import candidates
from tuibench.cli.options import TextOrJson
from tuibench.cli.output import JSON, TEXT, align_columns, check_format, echo_json, info, table_width
from tuibench.cli.runner import fetch_hello, find_session_socket, run_async
from tuibench.metrics.figures import read
from tuibench.metrics.thresholds import parse_probe_words
from tuibench.model import message as commands
from tuibench.model.callers import CallerPolicy
from tuibench.model.hardware import Hardware
from tuibench.model.message import Command, CommandReply, Hello, SessionEnded, Status, Stop, Watch
from tuibench.model.option import SECONDS_PER_UNIT, BoundOption, parse_duration
from tuibench.model.plan import caller_options, policy_texts
from tuibench.model.schedule import (
    PlanPhase,
    PlanProgress,
    format_delay,
    format_schedule,
    format_weights,
    parse_ab,
    parse_burst,
    parse_delay_ms,
    parse_schedule,
    parse_tolerance,
)
from tuibench.model.server import StatementReport
from tuibench.model.tick import Sample, Tick
from tuibench.model.tune import parse_tune_words
from tuibench.report.analysis import plan_text, statements_text
from tuibench.report.text import run_notes
from tuibench.session import registry
from tuibench.session.client import SessionClient
from tuibench.session.registry import SessionEntry

Arguments = Sequence[str]
VerbParser = Callable[[Arguments], commands.Command]
Value = TypeVar("Value")


class Verb(NamedTuple):
    """One verb of `ctl`."""

    name: str
    takes: str
    """The syntax of its arguments."""
    help: str
    parse: VerbParser
    """Converts the arguments to a command; raises ValueError with the reason for invalid ones."""

    @property
    def usage(self) -> str:
        return f"{self.name} {self.takes}".rstrip()

    def command(self, words: Arguments) -> commands.Command:
        """Convert the arguments to a command. Raises UsageError for invalid ones."""
        try:
            return self.parse(words)
        except ValueError as error:
            raise UsageError(f"ctl {self.name}: {error}", f"usage: ctl {self.usage}") from error


def no_argument(make: Callable[[], commands.Command]) -> VerbParser:
    """The parser of a verb without arguments."""

    def read(words: Arguments) -> commands.Command:
        if words:
            raise ValueError(f"it takes no argument, not '{words[0]}'")
        return make()

    return read


def one_argument(value: Callable[[str], Value], make: Callable[[Value], commands.Command]) -> VerbParser:
    """The parser of a verb with one argument, which `value` converts."""

    def read(words: Arguments) -> commands.Command:
        if len(words) != 1:
            raise ValueError(f"it takes one value, not {len(words)}")
        return make(value(words[0]))

    return read


LIMIT_WORDS = {
    "cpus": ("NUMBER", "limit the processors of a private server: 1.5; 0: no limit"),
    "memory": ("SIZE", "limit the memory of a private server that began with --memory: 1G; 0: no limit"),
}


def free_text(make: Callable[[str], commands.Command]) -> VerbParser:
    """The parser of a verb that takes a text, quoted or not."""
    return lambda words: make(" ".join(words))


def parse_int(word: str) -> int:
    """A whole number, with or without thousands separators."""
    try:
        return int(word.replace(",", ""))
    except ValueError:
        raise ValueError(f"'{word}' is not a whole number") from None


def parse_number(word: str) -> float:
    try:
        return float(word.replace(",", ""))
    except ValueError:
        raise ValueError(f"'{word}' is not a number") from None


def parse_setting(words: Arguments) -> commands.Command:
    """Parse `NAME=VALUE` or `NAME VALUE`."""
    parts = words[0].split("=", 1) if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts):
        raise ValueError("it takes a name and a value")
    return commands.ChangeSetting(parts[0].strip(), parts[1].strip())


def parse_weights(words: Arguments) -> commands.Command:
    """Parse `NAME=WEIGHT …`, separated by spaces or commas."""
    pairs = [pair.partition("=") for word in words for pair in word.split(",")]
    if not pairs or not all(name and equals for name, equals, _ in pairs):
        raise ValueError("it takes names with weights")
    return commands.SetWeights({name.strip(): parse_number(weight) for name, _, weight in pairs})


def parse_plan(words: Arguments) -> commands.Command:
    """Parse `hold`, `resume`, or the stages of a plan."""
    if not words:
        raise ValueError("it takes stages, such as 8:30s,16:30s,64:1m")
    if list(words) in (["hold"], ["resume"]):
        return commands.HoldPlan() if words[0] == "hold" else commands.ResumePlan()
    return commands.SetPlan(parse_schedule(" ".join(words)))


def parse_probe(words: Arguments) -> commands.Command:
    """Parse `stop`, `next`, or the objectives of a new probe; `rate` varies the rate instead of the
    threads.
    """
    if list(words) in (["stop"], ["next"]):
        return commands.StopExperiment("probe") if words[0] == "stop" else commands.NextStep()
    return commands.StartProbe(parse_probe_words(words))


def parse_ab_test(words: Arguments) -> commands.Command:
    """Parse `stop`, or `NAME=V1,V2` followed by `±2%` and the maximum duration, in any order."""
    if list(words) == ["stop"]:
        return commands.StopExperiment("ab")
    if not words:
        raise ValueError("it takes two values, such as sync_binlog=1,0")
    subject, a, b = parse_ab(words[0])
    order = commands.StartAbTest(subject=subject, a=a, b=b)
    for word in words[1:]:
        if word[-1:] in SECONDS_PER_UNIT:
            order = replace(order, max_seconds=parse_duration(word))
        else:
            order = replace(order, tolerance_percent=parse_tolerance(word))
    return order


def parse_tune(words: Arguments) -> commands.Command:
    """Parse `stop`, or settings and topics, a time, a tolerance, and a word that allows risks."""
    if list(words) == ["stop"]:
        return commands.StopExperiment("tune")
    return commands.StartTune(parse_tune_words(words))


def parse_burst_words(words: Arguments) -> commands.Command:
    """Parse `stop`, or a factor of the rate and a time."""
    if list(words) == ["stop"]:
        return commands.StopExperiment("burst")
    return commands.StartBurst(*parse_burst(" ".join(words)))


def parse_cpu_profile(words: Arguments) -> commands.Command:
    """Parse `stop`, a duration, or nothing for the default duration."""
    if len(words) > 1:
        raise ValueError(f"it takes one time, not {len(words)}")
    if not words:
        return commands.RecordCpuProfile()
    return commands.RecordCpuProfile(0.0 if words[0] == "stop" else parse_duration(words[0]))


def _caller_verb(option: BoundOption) -> Verb:
    name, help = option.name.removeprefix("--"), option.option.help.removesuffix(".")
    parse = one_argument(str, partial(commands.SetCallers, name))
    return Verb(name, option.metavar or "N", help[0].lower() + help[1:], parse)


VERBS = (
    Verb("threads", "N", "run with N threads", one_argument(parse_int, commands.SetThreads)),
    Verb(
        "rate",
        "N",
        "start N transactions per second; 0: no limit",
        one_argument(parse_number, commands.SetRate),
    ),
    Verb("weights", "NAME=N …", "set the weights of the profile's transactions", parse_weights),
    Verb(
        "plan",
        "STAGES|hold|resume",
        "follow a plan: 8:30s,16:30s or 1..64/1m; hold it, resume it",
        parse_plan,
    ),
    Verb(
        "probe",
        "[rate] [SLO …]|next|stop",
        'find the saturation point: probe "p95<20ms"; next: skip to the next step',
        parse_probe,
    ),
    Verb(
        "delay",
        "TIME",
        "simulate a network delay on each round trip: 20ms, 0",
        one_argument(parse_delay_ms, commands.SetDelay),
    ),
    Verb(
        "disk",
        "NAME=VALUE,…",
        "simulate a disk on a private server: fsync=2ms,read=0.3ms,iops=500; 0: none",
        one_argument(str, commands.SetHardware),
    ),
    *(
        Verb(part, value, text, one_argument(f"{part}={{}}".format, commands.SetHardware))
        for part, (value, text) in LIMIT_WORDS.items()
    ),
    *(_caller_verb(option) for option in caller_options().values()),
    Verb(
        "ab",
        "NAME=V1,V2 [±2%] [10m]|stop",
        "alternate two values until one is better, or they are equal within ±2 %",
        parse_ab_test,
    ),
    Verb(
        "tune",
        "[TOPIC …] [10m] [±2%] [allow-risk]|stop",
        "screen settings by A/B tests: all, or some topics and names",
        parse_tune,
    ),
    Verb("set", "NAME=VALUE", "change a setting of the server", parse_setting),
    Verb(
        "preset", "NAME", "apply a preset: durable, relaxed, unsafe", one_argument(str, commands.ApplyPreset)
    ),
    Verb(
        "restore",
        "[NAME …]",
        "restore what the session changed, or only these settings",
        lambda words: commands.RestoreSettings(tuple(words)),
    ),
    Verb(
        "keep",
        "[NAME …]",
        "keep what the session changed, or only these settings, until the server restarts",
        lambda words: commands.KeepSettings(tuple(words)),
    ),
    Verb(
        "yes-this-server",
        "",
        "allow changes although the server looks like production",
        no_argument(commands.TrustServer),
    ),
    Verb("kill", "ID", "end the query of a server connection", one_argument(parse_int, commands.KillQuery)),
    Verb(
        "close-connection",
        "ID",
        "close a server connection: its transaction is rolled back, its locks are released",
        one_argument(parse_int, commands.CloseConnection),
    ),
    Verb("undo", "", "take back the last change of load or settings", no_argument(commands.Undo)),
    Verb("run-sql", "SQL", "execute a statement while the load runs", free_text(commands.RunSql)),
    Verb(
        "cpu-profile",
        "[TIME]|stop",
        "record which functions of the server use the processor: 30s; a minute",
        parse_cpu_profile,
    ),
    Verb(
        "blackbox",
        "[TEXT]",
        "keep what the server did in the last minute, for tuibench blackbox",
        free_text(commands.KeepBlackBox),
    ),
    Verb(
        "burst",
        "xN TIME|stop",
        "multiply the rate for a time, and measure the recovery: x3 8s",
        parse_burst_words,
    ),
    Verb("crash", "", "kill the private server under load: what is lost?", no_argument(commands.CrashServer)),
    Verb("pause", "", "pause the load", no_argument(commands.Pause)),
    Verb("resume", "", "resume the load", no_argument(commands.Resume)),
    Verb("mark", "[TEXT]", "add a mark to the time axis", free_text(commands.Mark)),
    Verb("reset", "", "reset the run's figures", no_argument(commands.ResetStats)),
    Verb(
        "stop", "", "end the run, restore the settings; --wait: print the summary", no_argument(commands.Stop)
    ),
)
VERBS_BY_NAME = {verb.name: verb for verb in VERBS}

STATUS = "status"
"""A verb without a command: a session sends its status when a client connects."""
STATEMENTS = "statements"
"""A verb whose reply is a report, not a text."""
REPORTS = {
    STATUS: "print its status; --format json",
    STATEMENTS: "print the statements with the most execution time on the server since the first request; "
    "with the number of a line, that statement in full with its plan",
}


def split_words(words: Arguments) -> tuple[str, str, list[str]]:
    """Split the words into session (empty if not given), verb and its arguments. Raises UsageError."""
    known = {*VERBS_BY_NAME, *REPORTS}
    for place in (0, 1):
        if len(words) > place and words[place] in known:
            return "".join(words[:place]), words[place], list(words[place + 1 :])
    if not words:
        raise UsageError("ctl needs a command", f"one of {', '.join([*VERBS_BY_NAME, *REPORTS])}")
    meant = [(word, did_you_mean(word, known)) for word in words[:2]]
    wrong, hint = next((each for each in meant if each[1]), meant[-1])
    raise UsageError(f"ctl has no command '{wrong}'", hint or "see tuibench ctl --help")


def verbs_help() -> str:
    lines = [(verb.usage, verb.help) for verb in VERBS] + list(REPORTS.items())
    width = max(len(usage) for usage, _ in lines)
    return "\n".join(f"{usage:{width}}  {help}" for usage, help in lines)


NO_ANSWER = "no answer"


class SessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One session. Unknown values are None."""

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
    """The reason why the session does not answer; empty if it does."""
    metrics: str | None = None
    """The address of its metrics endpoint."""


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
    typer.echo(sessions_table(lines, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    for line in lines:
        if line.note:
            info(f"{line.session}, process {line.pid}: {line.note}")


def session_line(entry: SessionEntry) -> SessionLine:
    line = SessionLine(session=entry.name, pid=entry.pid, socket=str(entry.path), note=entry.error)
    hello = entry.hello
    if hello is None:
        return line
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
    """The list as text: a heading, then a line per session. Targets are shortened so that it fits `room`."""
    rows = [HEADINGS, *(_cells(line) for line in lines)]
    if room is not None:
        widest = max(len(row[TARGET]) for row in rows)
        width = max(MIN_TARGET_WIDTH, widest - max(0, table_width(rows) - room))
        rows = [(*row[:TARGET], _shorten_start(row[TARGET], width), *row[TARGET + 1 :]) for row in rows]
    return align_columns(rows, FIRST_NUMERIC_COLUMN)


def _shorten_start(text: str, width: int) -> str:
    """Shorten a path at its start, because its end identifies it better."""
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


class SessionStatus(Status, frozen=True, kw_only=True, tag=False):
    """The status of a session as JSON."""

    schema: Literal["tuibench.status/1"] = "tuibench.status/1"
    session: str
    pid: int
    version: str
    profile: str
    server: dict[str, str]
    """Address, flavour and version."""
    elapsed_seconds: float
    viewers: int
    run_directory: str
    sample: Sample | None
    """The newest sample; None before the first one."""


def session_status(hello: Hello) -> SessionStatus:
    """The status for programs, from a session's hello message."""
    return SessionStatus(
        session=hello.session,
        pid=hello.pid,
        version=hello.version,
        profile=hello.plan.profile,
        server={
            "where": hello.target.where,
            "flavour": hello.server.flavour,
            "version": hello.server.version,
        },
        elapsed_seconds=hello.elapsed_seconds,
        viewers=hello.viewers,
        run_directory=hello.run_directory,
        sample=hello.samples[-1] if hello.samples else None,
        **asdict(hello.status),
    )


def _callers_text(now: Status) -> str:
    """The options of the callers that differ from their defaults."""
    usual, texts = policy_texts(CallerPolicy()), policy_texts(now.callers)
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text != usual[name])


def status_text(hello: Hello) -> str:
    """The status as text, in a few lines."""
    now, plan, server = hello.status, hello.plan, hello.server
    limit = f" of {hms(plan.seconds)}" if plan.seconds else ""
    figures = hello.samples[-1].throughput if hello.samples else None
    rate = f", rate: {now.rate:,g}/s" if now.rate else ""
    lines = [
        f"{hello.session}: {now.state}, {hms(hello.elapsed_seconds)}{limit}, viewers: {hello.viewers}",
        f"{plan.profile} on {server.flavour} {server.version}, {hello.target.user}@{hello.target.where}",
        *([] if plan.is_watch else [f"threads: {now.threads:,}{rate}"]),
        *([f"plan: {_plan_text(now.plan)}"] if now.plan else []),
        *([f"weights: {format_weights(now.weights)}"] if now.weights else []),
        *([f"simulated network delay: {format_delay(now.client_delay_ms)}"] if now.client_delay_ms else []),
        *([f"simulated hardware: {now.hardware}"] if now.hardware not in (None, Hardware()) else []),
        *([f"callers: {callers}"] if (callers := _callers_text(now)) else []),
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
    """The stages of the plan and the current one, as text."""
    stages = format_schedule(plan.stages)
    if plan.phase is PlanPhase.OVER:
        return f"{stages}, over"
    following = f"{plan.following} in" if plan.following else "ends in"
    place = f"stage {plan.stage} of {len(plan.stages)}"
    return f"{stages}, {place}, {plan.phase}, {following} {hms(plan.left_seconds)}"


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


def _candidates(context: typer.Context) -> candidates.Candidates:
    """A session or a verb, then the verb, then its arguments."""
    given: Sequence[str] = context.params.get("words") or ()
    known = {verb.name: verb.help for verb in VERBS} | REPORTS
    if not given:
        return [*known.items(), *candidates.sessions()]
    if known.keys().isdisjoint(given[:2]):
        return list(known.items()) if len(given) == 1 else []
    return VERB_ARGUMENTS[given[-1]]() if given[-1] in VERB_ARGUMENTS else []


VERB_ARGUMENTS: dict[str, Callable[[], candidates.Candidates]] = {
    "plan": candidates.words("hold", "resume"),
    "preset": candidates.presets,
    "probe": candidates.words("rate", "recover", "next", "stop"),
    "keep": candidates.changed_settings,
    "restore": candidates.changed_settings,
    "set": candidates.settings,
}


def ctl(
    words: Annotated[
        list[str],
        typer.Argument(
            autocompletion=_candidates,
            metavar="[ID] COMMAND …",
            help="Command, after the id of the session.",
        ),
    ],
    output: TextOrJson = TEXT,
    wait: Annotated[
        bool, typer.Option("--wait", help="With stop: wait for the end, and print the summary.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time limit for the reply in seconds.")
    ] = ANSWER_TIMEOUT_SECONDS,
) -> None:
    """Name the session by its id or a unique part of it; if there is only one, the id can be omitted. The
    reply is printed on stdout, a refusal on stderr. Exit codes: 1 refused, 2 usage error, 3 no such
    session; of stop --wait, that of the run, 5 if a setting was not restored.
    """
    session, name, rest = split_words(words)
    check_format(output)
    if wait and name != "stop":
        raise UsageError(f"--wait is for stop, not for {name}")
    if name == STATUS:
        if rest:
            raise UsageError(f"ctl status takes no argument, not '{rest[0]}'")
        hello = run_async(fetch_hello(find_session_socket(session)))
        if output == JSON:
            echo_json(session_status(hello))
        else:
            typer.echo(status_text(hello))
        return
    if name == STATEMENTS:
        _print_statements(session, rest, output, timeout)
        return
    command = VERBS_BY_NAME[name].command(rest)
    socket = find_session_socket(session)
    if wait:
        raise typer.Exit(_print_summary(run_async(_stop_and_wait(socket)), output))
    answer = run_async(_submit(socket, command, timeout))
    if not answer.ok:
        raise RunError(answer.text)
    if output == JSON:
        echo_json(CommandAnswer(answer=answer.text))
    else:
        typer.echo(sanitize.text(answer.text))


ctl.__doc__ = f"{getdoc(ctl)}\n\n\b\n{verbs_help()}"


def _print_statements(session: str, rest: list[str], output: str, timeout: float) -> None:
    number = (numerals.count(rest[0]) or 0) if rest else None
    if len(rest) > 1 or number == 0:
        raise UsageError(f"ctl statements takes the number of a line, not '{' '.join(rest)}'")
    report = run_async(_read_statements(find_session_socket(session), timeout, number))
    if output == JSON:
        echo_json(report)
    else:
        typer.echo(statements_text(report) if number is None else plan_text(report))


async def _read_statements(socket: Path, seconds: float, number: int | None) -> StatementReport:
    """Poll until the session has read the statements twice: the report is about the time in between. With
    `number`, until it has also read the statement of that line in full.
    """
    wanted = ""
    client = await SessionClient.join(socket, samples=0, read_only=True)
    try:
        async with asyncio.timeout(seconds):
            await client.submit(Watch("statements"))
            async for news in client.messages():
                if isinstance(news, Sample):
                    await client.submit(Watch("statements", statement=wanted))
                if isinstance(news, StatementReport) and news.seconds:
                    if number is None or (news.detail is not None and news.detail.key == wanted):
                        return news
                    if not wanted:
                        wanted = _key_of_line(news, number)
    except TimeoutError:
        pass
    finally:
        await client.close()
    raise SessionUnreachableError(
        f"the session has read no statements in {seconds:g} s", "--timeout=60 waits longer"
    )


def _key_of_line(report: StatementReport, number: int) -> str:
    if number > len(report.rows):
        raise UsageError(
            f"there is no line {number}: {pluralize(len(report.rows), 'statement')}",
            "tuibench ctl statements",
        )
    return report.rows[number - 1].key


async def _submit(socket: Path, command: Command, seconds: float) -> CommandReply:
    """Submit a command and return the reply. Raises SessionUnreachableError on timeout."""
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
    """Stop a session and wait for its end message. Raises SessionUnreachableError if there is none."""
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
        typer.echo(ended.text, nl=False)
    for line in run_notes(ended.summary, ended.run_directory):
        info(line)
    return ExitCode(ended.exit_code)
