"""`tuibench profiles`: lists profiles, shows one, checks a profile file, or creates one from real traffic."""

from collections.abc import Callable
from os.path import isfile
from pathlib import Path
from typing import Annotated

import click
import msgspec

from tuibench import sanitize, suggestions
from tuibench.cli.commands.profiles.description import profile_description
from tuibench.cli.commands.profiles.traffic_options import TrafficOptions
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.parsing.click_command import Argument
from tuibench.errors import UsageError
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile, known_options
from tuibench.workload.generate.generator import Generator
from tuibench.workload.language.options import ProfileOption
from tuibench.workload.language.profile_schema import (
    HeadlineText,
    Profile,
    TransactionText,
)

FROM_SLOW_LOG, FROM_DIGEST = "from-slow-log", "from-digest"


class ProfileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in the list, or the error of an unreadable one."""

    name: str
    data_set: str = ""
    summary: str = ""
    file: str
    error: str = ""


class ProfileDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A profile, merged with the profiles that it extends; named steps are expanded where they are used."""

    name: str
    summary: str
    data_set: str
    draw: str
    options: dict[str, ProfileOption]
    lists: dict[str, tuple[int | float | str, ...]]
    headline: HeadlineText | None
    transactions: tuple[TransactionText, ...]


class ProfileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result for a valid profile; an invalid one is an error."""

    name: str
    ok: bool = True


def profiles(
    traffic: TrafficOptions,
    server: ServerOptions,
    action: Annotated[
        str, Argument(metavar="list|show|check|from-slow-log|from-digest", help="Action.")
    ] = "list",
    name: Annotated[str, Argument(help="A profile's name, or a file.", show_default=False)] = "",
    output: TextOrJson = TEXT,
) -> None:
    """list: names, data sets, summaries. show NAME: options with defaults and limits, transactions,
    statements. check FILE: prints ok, or the error and its place. from-slow-log FILE: creates a profile
    from a slow query log. from-digest: creates one from the statement digests of a server's database.
    """
    if action not in (*ACTIONS, FROM_SLOW_LOG, FROM_DIGEST):
        raise UsageError(
            f"profiles has no action '{action}'",
            suggestions.did_you_mean(action, (*ACTIONS, FROM_SLOW_LOG, FROM_DIGEST)),
        )
    check_format(output)
    traffic.check()
    if bool(name) != (action not in ("list", FROM_DIGEST)):
        raise UsageError(f"profiles {action} takes {'no name' if name else 'a name or a file'}")
    if action in ACTIONS:
        ACTIONS[action](name, output == JSON)
        return
    from tuibench.cli.commands.profiles import from_traffic

    if action == FROM_DIGEST:
        from_traffic.from_digest(server, traffic)
    else:
        from_traffic.from_slow_log(name, traffic)


def _list(_: str, as_json: bool) -> None:
    lines = [_line(name, path) for name, path in sorted(library.available_profiles().items())]
    if as_json:
        echo_json(lines)
        return
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        words = f"{line.name:{width}}  {line.data_set:8}  {line.summary or f'broken: {line.error}'}"
        click.echo(sanitize.text(words))


def _line(name: str, path: Path) -> ProfileLine:
    """Line of a profile; an invalid file of the user must not hide the others."""
    try:
        profile = library.load_profile(name)
    except UsageError as error:
        return ProfileLine(name=name, file=str(path), error=str(error))
    return ProfileLine(name=name, file=str(path), data_set=profile.data_set, summary=profile.summary)


def _show(name: str, as_json: bool) -> None:
    profile = library.load_profile(_resolve_file(name))
    if not as_json:
        click.echo(profile_description(profile), nl=False)
        return
    steps = profile.steps
    echo_json(
        ProfileDetails(
            name=profile.name,
            summary=profile.summary,
            data_set=profile.data_set,
            draw=profile.draw or "weight",
            options=known_options(profile),
            lists=profile.lists,
            headline=profile.headline,
            transactions=tuple(
                msgspec.structs.replace(
                    transaction,
                    steps=tuple(steps[step] if isinstance(step, str) else step for step in transaction.steps),
                )
                for transaction in profile.transactions
            ),
        )
    )


def _check(name: str, as_json: bool) -> None:
    profile = library.load_profile(_resolve_file(name))
    _try_compile(profile)
    if as_json:
        echo_json(ProfileCheck(name=profile.name))
    else:
        click.echo(f"{name}: ok")


def _try_compile(profile: Profile) -> None:
    """Compile the profile. Raises UsageError for errors that only option values or a connection show."""
    Generator(compile_profile(profile, {}), 0, 0)


def _resolve_file(name: str) -> str:
    """Resolve a file in the current directory, given by name only and with any suffix."""
    return str(Path(name).absolute()) if isfile(name) else name


ACTIONS: dict[str, Callable[[str, bool], None]] = {"list": _list, "show": _show, "check": _check}
