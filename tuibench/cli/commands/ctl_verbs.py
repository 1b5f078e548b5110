"""Verbs of `tuibench ctl` and the commands that they send."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from tuibench.errors import UsageError, did_you_mean
from tuibench.metrics.thresholds import parse_probe_words
from tuibench.model import command as commands
from tuibench.model.notation import (
    SECONDS_PER_UNIT,
    parse_ab,
    parse_delay_ms,
    parse_duration,
    parse_tolerance,
)
from tuibench.model.schedule import parse_schedule
from tuibench.model.tune import parse_tune_words

Arguments = Sequence[str]
VerbParser = Callable[[Arguments], commands.Command]
Value = TypeVar("Value")


class Verb(NamedTuple):
    """One verb of `ctl`: argument syntax, help text, and conversion of the words to a Command.

    `parse` raises ValueError with the reason for invalid words.
    """

    name: str
    takes: str
    help: str
    parse: VerbParser

    @property
    def usage(self) -> str:
        return f"{self.name} {self.takes}".rstrip()

    def command(self, words: Arguments) -> commands.Command:
        """Convert the words to a Command. Raises UsageError for invalid ones."""
        try:
            return self.parse(words)
        except ValueError as error:
            raise UsageError(f"ctl {self.name}: {error}", f"usage: ctl {self.usage}") from error


def no_argument(make: Callable[[], commands.Command]) -> VerbParser:
    """Parser of a verb without arguments."""

    def read(words: Arguments) -> commands.Command:
        if words:
            raise ValueError(f"it takes no argument, not '{words[0]}'")
        return make()

    return read


def one_argument(value: Callable[[str], Value], make: Callable[[Value], commands.Command]) -> VerbParser:
    """Parser of a verb with one value."""

    def read(words: Arguments) -> commands.Command:
        if len(words) != 1:
            raise ValueError(f"it takes one value, not {len(words)}")
        return make(value(words[0]))

    return read


def free_text(make: Callable[[str], commands.Command]) -> VerbParser:
    """Parser of a verb with any text, quoted or not."""
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
    """`NAME=VALUE`, or `NAME VALUE`."""
    parts = words[0].split("=", 1) if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts):
        raise ValueError("it takes a name and a value")
    return commands.ChangeSetting(parts[0].strip(), parts[1].strip())


def parse_weights(words: Arguments) -> commands.Command:
    """`NAME=WEIGHT …`, with spaces or commas between them."""
    pairs = [pair.partition("=") for word in words for pair in word.split(",")]
    if not pairs or not all(name and equals for name, equals, _ in pairs):
        raise ValueError("it takes names with weights")
    return commands.SetWeights({name.strip(): parse_number(weight) for name, _, weight in pairs})


def parse_plan(words: Arguments) -> commands.Command:
    """`hold`, `resume`, or the stages of a plan."""
    if not words:
        raise ValueError("it takes stages, such as 8:30s,16:30s,64:1m")
    if list(words) in (["hold"], ["resume"]):
        return commands.HoldPlan() if words[0] == "hold" else commands.ResumePlan()
    return commands.SetPlan(parse_schedule(" ".join(words)))


def parse_probe(words: Arguments) -> commands.Command:
    """`stop`, `next`, or the objectives of a new probe; `rate` steps the rate instead of the threads."""
    if list(words) in (["stop"], ["next"]):
        return commands.StopProbe() if words[0] == "stop" else commands.NextStep()
    return commands.StartProbe(parse_probe_words(words))


def parse_ab_test(words: Arguments) -> commands.Command:
    """`stop`, or `NAME=V1,V2`, followed by `±2%` and the maximum duration in any order."""
    if list(words) == ["stop"]:
        return commands.StopAbTest()
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
    """`stop`, or settings and topics, a time, a tolerance, and whether risks are allowed."""
    if list(words) == ["stop"]:
        return commands.StopTune()
    return commands.StartTune(parse_tune_words(words))


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
        "yes-this-server",
        "",
        "allow changes although the server looks like production",
        no_argument(commands.TrustServer),
    ),
    Verb("kill", "ID", "end the query of a server connection", one_argument(parse_int, commands.KillQuery)),
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
"""Not a command: a session sends its status unrequested."""
STATEMENTS = "statements"
"""A command whose reply is a report, not a text."""
REPORTS = {
    STATUS: "print its status; --format json",
    STATEMENTS: "print the statements with the most execution time on the server since the first request",
}


def split_words(words: Arguments) -> tuple[str, str, list[str]]:
    """Split into session (empty if none is named), verb, and its arguments. Raises UsageError."""
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
    """Table of the verbs for the help."""
    lines = [(verb.usage, verb.help) for verb in VERBS] + list(REPORTS.items())
    width = max(len(usage) for usage, _ in lines)
    return "\n".join(f"{usage:{width}}  {help}" for usage, help in lines)
