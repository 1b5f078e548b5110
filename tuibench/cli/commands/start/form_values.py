"""Parsing of the start form's fields, with an error for each invalid value.

Opens no connection.
"""

import shlex
from collections.abc import Callable
from functools import lru_cache

from tuibench.cli.commands.start import choices
from tuibench.cli.options.profile_options import parse_profile_options
from tuibench.cli.options.run_options import make_plan
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.parsing.click_command import PlanValues, parse_plan_words
from tuibench.errors import TuibenchError, UsageError
from tuibench.model.notation import parse_duration
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.plan_options import PLAN_COMMANDS
from tuibench.model.target import Target
from tuibench.tui.start.controller import FormValues
from tuibench.workload import library
from tuibench.workload.program.program import Program

THREADS, TIME = (PLAN_COMMANDS["run"].options[key][1] for key in ("threads", "time"))


def is_private_server(answers: FormValues) -> bool:
    """True if the server is created for the run."""
    return answers.server == choices.PRIVATE_SERVER


def form_errors(answers: FormValues) -> dict[str, str]:
    """Errors by field; empty if the form describes a valid run."""
    return {name: reason for name, check in FIELD_CHECKS.items() if (reason := _field_error(check, answers))}


def form_target(answers: FormValues) -> Target:
    """The target, with missing values from option files. Raises UsageError."""
    suffix = answers.server.removeprefix(choices.FILES_PREFIX)
    place = _parse_place(answers.place)
    return ServerOptions(
        host=place.get("host"),
        port=place.get("port"),
        socket=place.get("socket"),
        user=answers.user or None,
        password=answers.password or None,
        database=answers.database.strip(),
        defaults_group_suffix=suffix if suffix != answers.server else "",
    ).target(tell=lambda warning: None)


def form_option_names() -> tuple[str, ...]:
    """The options of the load that the form takes among those of the profile."""
    options = PLAN_COMMANDS["live"].options.values()
    return tuple(f"{each.name}=" for _, each in options if each not in (THREADS, TIME))


def form_plan(answers: FormValues) -> RunPlan:
    """The run plan. Raises UsageError."""
    load, options = _form_options(answers)
    return make_plan(load, answers.profile, options)


def form_program(answers: FormValues) -> Program:
    """The compiled profile with its options. Raises UsageError."""
    return library.load_program(answers.profile, form_plan(answers).profile_options)


@lru_cache
def _options_error(profile: str, options: str) -> TuibenchError | None:
    """Error of the options. Cached: compiling a profile is slow, and this is called on every key."""
    try:
        load, of_profile = _parse_options(options)
        library.load_program(profile, make_plan(load, profile, of_profile).profile_options)
    except TuibenchError as error:
        return error
    return None


def _check_options(profile: str, options: str) -> None:
    if fault := _options_error(profile, options):
        raise fault


def _form_options(answers: FormValues) -> tuple[PlanValues, dict[str, OptionValue]]:
    """Options of the load and of the profile; threads and time have fields of their own."""
    load, options = _parse_options(answers.options)
    given = {key: load[key] for key in load.given} | {"time": _parse_seconds(answers.seconds)}
    return PlanValues(load.command, given).replaced(threads=_parse_threads(answers.threads)), options


def _parse_options(text: str) -> tuple[PlanValues, dict[str, OptionValue]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot be read: {error}".lower()) from error
    load, rest = parse_plan_words("live", words)
    if own := load.given & {THREADS.key, TIME.key}:
        raise UsageError(f"leave out --{min(own)}: it has a field of its own")
    return load, parse_profile_options(rest)


def _parse_place(text: str) -> dict[str, str]:
    """Parse `host`, `host:port`, `[::1]:port` or a socket's path to server options."""
    text = text.strip()
    if text.startswith("/") or not text:
        return {"socket": text} if text else {}
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return {"host": text.strip("[]")}
    return {"host": host.strip("[]"), "port": port}


def _parse_threads(text: str) -> int:
    try:
        return int(THREADS.checked(int(text.replace(",", ""))) or 0)
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number") from None


def _parse_seconds(text: str) -> float | None:
    """Parse the duration; None for no limit."""
    plain = text.strip()
    return TIME.checked(float(plain) if plain.isdecimal() else parse_duration(plain)) if plain else None


def _check_place(answers: FormValues) -> None:
    if is_private_server(answers):
        return
    if not answers.place.strip():
        raise UsageError("a host, host:port, or the path of a socket")
    form_target(answers)


def _check_database(answers: FormValues) -> None:
    if not answers.database.strip():
        raise UsageError("a name is needed")


FIELD_CHECKS: dict[str, Callable[[FormValues], object]] = {
    "place": _check_place,
    "threads": lambda given: _parse_threads(given.threads),
    "seconds": lambda given: _parse_seconds(given.seconds),
    "database": _check_database,
    "options": lambda given: _check_options(given.profile, given.options),
}
"""Parsers by field; each raises UsageError for an invalid value."""


def _field_error(check: Callable[[FormValues], object], answers: FormValues) -> str:
    try:
        check(answers)
    except TuibenchError as error:
        return str(error).removeprefix("--threads ").removeprefix("--time ")
    return ""
