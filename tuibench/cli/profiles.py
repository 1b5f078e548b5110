"""`tuibench profiles`: which there are, what one does, and whether a file is one."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from tuibench.cli.profile_text import described
from tuibench.errors import UsageError
from tuibench.workload import library, nearest
from tuibench.workload.compile import compile_profile, known_options
from tuibench.workload.generate import Generator
from tuibench.workload.profile import Profile

DETAILS = (
    "list: names, data sets, summaries. show NAME: options with defaults and limits, transactions, "
    "statements. check FILE: says ok, or what is wrong and where."
)
FORMATS = ("text", "json")


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A profile in the list; one that cannot be read says why."""

    name: str
    data_set: str = ""
    summary: str = ""
    file: str
    error: str = ""


def profiles(
    action: Annotated[str, typer.Argument(help="list, show or check.")] = "list",
    name: Annotated[str, typer.Argument(help="A profile's name, or file.", show_default=False)] = "",
    output: Annotated[str, typer.Option("--format", help="text, or json for programs.")] = "text",
) -> None:
    if action not in ACTIONS:
        raise UsageError(f"profiles cannot '{action}'", nearest.hint(action, ACTIONS))
    if output not in FORMATS:
        raise UsageError(f"--format: '{output}' is unknown", nearest.hint(output, FORMATS))
    if bool(name) != (action != "list"):
        raise UsageError(f"profiles {action} takes {'no name' if name else 'a name or a file'}")
    ACTIONS[action](name, output == "json")


def _list(_: str, as_json: bool) -> None:
    lines = [_line(name, path) for name, path in sorted(library.available().items())]
    if as_json:
        _echo_json(lines)
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
    _echo_json(
        {
            "name": profile.name,
            "summary": profile.summary,
            "data_set": profile.data_set,
            "draw": profile.draw or "weight",
            "options": known_options(profile),
            "lists": profile.lists,
            "transactions": [
                msgspec.structs.replace(
                    transaction,
                    steps=tuple(steps[step] if isinstance(step, str) else step for step in transaction.steps),
                )
                for transaction in profile.transactions
            ],
        }
    )


def _check(name: str, as_json: bool) -> None:
    profile = library.load(_located(name))
    _play(profile)
    if as_json:
        _echo_json({"name": profile.name, "ok": True})
    else:
        typer.echo(f"{name}: ok")


def _play(profile: Profile) -> None:
    """Raises UsageError for what shows only with the options' values, and when a connection starts."""
    Generator(compile_profile(profile, {}), 0, 0)


def _located(name: str) -> str:
    """A file in this folder may be given without its folder, whatever its suffix."""
    return str(Path(name).absolute()) if Path(name).is_file() else name


def _echo_json(value: Any) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


ACTIONS: dict[str, Callable[[str, bool], None]] = {"list": _list, "show": _show, "check": _check}
