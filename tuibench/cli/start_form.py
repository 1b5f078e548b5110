"""What the words in the start form mean: a server, a run, its program; or what is wrong with them.

Nothing is connected to here.
"""

import shlex
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tuibench.cli import start_offers
from tuibench.cli.profile_options import profile_options
from tuibench.cli.run_options import RunOptions
from tuibench.cli.server_options import ServerOptions
from tuibench.errors import TuibenchError, UsageError
from tuibench.model.duration import seconds_in
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.tui.start.backstage import Answers
from tuibench.workload import library
from tuibench.workload.program import Program


def is_private(answers: Answers) -> bool:
    """True where the server is one that is made for the run."""
    return answers.server == start_offers.PRIVATE


def faults(answers: Answers) -> dict[str, str]:
    """What is wrong, by field; empty if a run could be made of it."""
    return {name: reason for name, check in CHECKS.items() if (reason := _fault(check, answers))}


def target_of(answers: Answers) -> Target:
    """The server meant; what the form does not say is taken from option files. Raises UsageError."""
    suffix = answers.server.removeprefix(start_offers.FILES)
    place = _place(answers.place)
    return ServerOptions(
        host=place.get("host"),
        port=place.get("port"),
        socket=place.get("socket"),
        user=answers.user or None,
        password=answers.password or None,
        database=answers.database.strip(),
        defaults_group_suffix=suffix if suffix != answers.server else "",
    ).target()


def plan_of(answers: Answers) -> Plan:
    """The run meant. Raises UsageError."""
    options = RunOptions(threads=_whole(answers.threads), time=_seconds(answers.seconds))
    return options.plan(answers.profile, _options(answers))


def program_of(answers: Answers) -> Program:
    """Its profile with its options, compiled. Raises UsageError."""
    return library.program(answers.profile, {**_options(answers), "threads": _whole(answers.threads)})


@lru_cache
def _options_fault(profile: str, options: str) -> TuibenchError | None:
    """Compiling a profile takes its time, and this is asked at every key."""
    try:
        library.program(profile, _read_options(options))
    except TuibenchError as error:
        return error
    return None


def _options_checked(profile: str, options: str) -> None:
    if fault := _options_fault(profile, options):
        raise fault


def _options(answers: Answers) -> dict[str, Any]:
    return _read_options(answers.options)


def _read_options(text: str) -> dict[str, Any]:
    try:
        return dict(profile_options(shlex.split(text)))
    except ValueError as error:
        raise UsageError(f"cannot be read: {error}".lower()) from error


def _place(text: str) -> dict[str, str]:
    """`host`, `host:port`, `[::1]:port` or a socket's path, as server options."""
    text = text.strip()
    if text.startswith("/") or not text:
        return {"socket": text} if text else {}
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return {"host": text.strip("[]")}
    return {"host": host.strip("[]"), "port": port}


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number") from None


def _seconds(text: str) -> float:
    """0 for no limit."""
    plain = text.strip()
    if not plain:
        return 0.0
    return float(plain) if plain.isdecimal() else seconds_in(plain)


def _place_checked(answers: Answers) -> None:
    if is_private(answers):
        return
    if not answers.place.strip():
        raise UsageError("a host, host:port, or the path of a socket")
    target_of(answers)


def _database_checked(answers: Answers) -> None:
    if not answers.database.strip():
        raise UsageError("a name is needed")


CHECKS: dict[str, Callable[[Answers], object]] = {
    "place": _place_checked,
    "threads": lambda given: RunOptions(threads=_whole(given.threads)).plan(given.profile, {}),
    "seconds": lambda given: RunOptions(time=_seconds(given.seconds)).plan(given.profile, {}),
    "database": _database_checked,
    "options": lambda given: _options_checked(given.profile, given.options),
}
"""Each raises UsageError for what its field cannot mean."""


def _fault(check: Callable[[Answers], object], answers: Answers) -> str:
    try:
        check(answers)
    except TuibenchError as error:
        return str(error).removeprefix("--threads ").removeprefix("--time ")
    return ""
