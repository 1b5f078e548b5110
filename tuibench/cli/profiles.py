"""`tuibench profiles`: which there are, what one does, and whether a file is one."""

from collections.abc import Callable
from os.path import isfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.profile_text import described
from tuibench.errors import UsageError
from tuibench.workload import library, nearest
from tuibench.workload.compile import compile_profile, known_options
from tuibench.workload.generate import Generator
from tuibench.workload.options import Option
from tuibench.workload.profile import HeadlineText, Profile, TransactionText

DETAILS = (
    "list: names, data sets, summaries. show NAME: options with defaults and limits, transactions, "
    "statements. check FILE: says ok, or what is wrong and where."
)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in the list; one that cannot be read says why."""

    name: str
    data_set: str = ""
    summary: str = ""
    file: str
    error: str = ""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A profile as it is after all that it extends; named steps stand where they are used."""

    name: str
    summary: str
    data_set: str
    draw: str
    options: dict[str, Option]
    lists: dict[str, tuple[int | float | str, ...]]
    headline: HeadlineText | None
    transactions: tuple[TransactionText, ...]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that is one; what is wrong with any other is an error."""

    name: str
    ok: bool = True


def profiles(
    action: Annotated[str, typer.Argument(metavar="list|show|check", help="What to do.")] = "list",
    name: Annotated[str, typer.Argument(help="A profile's name, or file.", show_default=False)] = "",
    output: TextOrJson = TEXT,
) -> None:
    if action not in ACTIONS:
        raise UsageError(f"profiles cannot '{action}'", nearest.hint(action, ACTIONS))
    demand_format(output)
    if bool(name) != (action != "list"):
        raise UsageError(f"profiles {action} takes {'no name' if name else 'a name or a file'}")
    ACTIONS[action](name, output == JSON)


def _list(_: str, as_json: bool) -> None:
    lines = [_line(name, path) for name, path in sorted(library.available().items())]
    if as_json:
        echo_json(lines)
        return
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        typer.echo(f"{line.name:{width}}  {line.data_set:8}  {line.summary or f'broken: {line.error}'}")


def _line(name: str, path: Path) -> Line:
    """A user's broken file must not hide the others."""
    try:
        profile = library.load(name)
    except UsageError as error:
        return Line(name=name, file=str(path), error=str(error))
    return Line(name=name, file=str(path), data_set=profile.data_set, summary=profile.summary)


def _show(name: str, as_json: bool) -> None:
    profile = library.load(_located(name))
    if not as_json:
        typer.echo(described(profile), nl=False)
        return
    steps = profile.steps
    echo_json(
        Shown(
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
    profile = library.load(_located(name))
    _play(profile)
    if as_json:
        echo_json(Checked(name=profile.name))
    else:
        typer.echo(f"{name}: ok")


def _play(profile: Profile) -> None:
    """Raises UsageError for what shows only with the options' values, and when a connection starts."""
    Generator(compile_profile(profile, {}), 0, 0)


def _located(name: str) -> str:
    """A file in this folder may be given without its folder, whatever its suffix."""
    return str(Path(name).absolute()) if isfile(name) else name


ACTIONS: dict[str, Callable[[str, bool], None]] = {"list": _list, "show": _show, "check": _check}
