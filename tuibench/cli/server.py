"""`tuibench watch`, `settings`, `restore`: a server's own traffic, and its settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated

import msgspec
import typer

from tuibench.base import sanitize
from tuibench.base.clock import SystemClock
from tuibench.base.errors import ExitCode, TuibenchError, UsageError
from tuibench.base.units import DASH
from tuibench.cli import candidates
from tuibench.cli.options import (
    BackgroundOptions,
    ScreenOptions,
    SessionOptions,
    TextOrJson,
    make_plan,
)
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info
from tuibench.cli.runner import run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.typer_command import PlanValues, Takes
from tuibench.model.plan import WATCH
from tuibench.model.server import ServerInfo, Target
from tuibench.model.settings import PresetState, SettingState, SettingTopic
from tuibench.mysql.info import connect_with_defaults, server_info
from tuibench.tuning import catalogue
from tuibench.tuning.changer import SettingsManager, session_journal
from tuibench.tuning.connection import admin_connector
from tuibench.tuning.restore import Leftover, RestoreOutcome, leftovers, restore_leftover

__all__ = ["watch"]


SCOPE_TEXT = {
    "server": "",
    "default": "; the load's connections change at once",
    "workload": "; for the load's connections only",
}
"""The sessions that a change affects, by scope of the setting; empty if it affects all sessions."""


def _setting_lines(settings: Sequence[SettingState]) -> Iterator[str]:
    name_width = max(len(setting.name) for setting in settings)
    value_width = max(len(setting.value) for setting in settings)
    for topic, members in groupby(settings, key=lambda setting: setting.topic):
        yield f"{SettingTopic(topic).heading}:"
        for setting in members:
            value = setting.value or DASH
            yield f"  {setting.name:{name_width}}  {value:{value_width}}  {setting.meaning}".rstrip()
            yield from _detail_lines(setting)
        yield ""


def _detail_lines(setting: SettingState) -> Iterator[str]:
    indent = " " * 6
    if setting.unavailable:
        yield f"{indent}cannot be changed: {setting.unavailable}"
        if setting.requires_restart:
            yield f"{indent}takes {setting.takes}: --ab and sweep --setting start private servers with it"
        return
    yield f"{indent}takes {setting.takes}{SCOPE_TEXT[setting.scope]}"
    yield f"{indent}risk: {setting.risk}"


def _preset_lines(presets: Iterable[PresetState]) -> Iterator[str]:
    yield "presets:"
    for preset in presets:
        values = ", ".join(f"{name}={value}" for name, value in preset.values.items())
        yield f"  {preset.name}: {values}"
        yield f"      {preset.risk}"


class SettingsListing(msgspec.Struct, frozen=True, kw_only=True):
    """Output of `--format json`."""

    flavour: str
    version: str
    where: str
    settings: tuple[SettingState, ...]
    presets: tuple[PresetState, ...]


def settings(
    server: ServerOptions,
    action: Annotated[
        str, typer.Argument(autocompletion=candidates.words("list"), metavar="list", help="Action.")
    ] = "list",
    output: TextOrJson = TEXT,
) -> None:
    """Reads from the server and changes nothing. Your own presets are in config.toml in the configuration
    folder; see docs/settings.md.
    """
    if action != "list":
        raise UsageError(f"settings has no action '{action}'", "tuibench settings list")
    check_format(output)
    presets = catalogue.all_presets()
    listing = run_async(_fetch_listing(server.target(), presets))
    if output == JSON:
        echo_json(listing)
        return
    typer.echo(sanitize.text(f"{listing.flavour} {listing.version} at {listing.where}") + "\n")
    typer.echo(
        "\n".join(map(sanitize.text, [*_setting_lines(listing.settings), *_preset_lines(listing.presets)]))
        + "\n",
        nl=False,
    )


async def _fetch_listing(target: Target, presets: tuple[PresetState, ...]) -> SettingsListing:
    info = await _fetch_server_info(target)
    tuner = SettingsManager(
        admin_connector(target), session_journal("list", target, info, SystemClock()), info, presets=presets
    )
    try:
        states = await tuner.open()
        if tuner.refusal:
            raise tuner.refusal
    finally:
        await tuner.close()
    return SettingsListing(
        flavour=info.flavour,
        version=info.version,
        where=info.where,
        settings=states,
        presets=tuner.presets,
    )


async def _fetch_server_info(target: Target) -> ServerInfo:
    connection = await connect_with_defaults(target, use_database=False)
    try:
        return await server_info(connection)
    finally:
        await connection.close()


def restore(
    server: ServerOptions,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds to retry while the server is unreachable.")
    ] = 30,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what remains to be restored; change nothing.")
    ] = False,
    even_restarted: Annotated[
        bool,
        typer.Option(
            "--even-restarted", help="Also on a server that was restarted since, and has its own values now."
        ),
    ] = False,
) -> None:
    """The journal contains the server and the user of each session; the password comes from -p, MYSQL_PWD
    or an option file. Only values that tuibench set, and that have not been changed since, are restored.
    Exit code 5 if some remain.
    """
    found = leftovers()
    if not found:
        typer.echo("nothing to restore")
        return
    if dry_run:
        for leftover in found:
            typer.echo(sanitize.text(leftover.text))
        return
    login = server.target()
    results = [
        run_async(_restore_one(leftover, server, login, wait, even_restarted=even_restarted))
        for leftover in found
    ]
    raise typer.Exit(ExitCode.DONE if all(results) else ExitCode.NOT_RESTORED)


async def _restore_one(
    leftover: Leftover, server: ServerOptions, login: Target, wait: float, *, even_restarted: bool
) -> bool:
    """Restore the settings of one crashed session; False if some remain changed, or if that is unknown."""
    if leftover.header is None:
        info(leftover.problem)
        return False
    target = server.over(leftover.header.target, login)
    typer.echo(sanitize.text(leftover.text))
    try:
        restored = await restore_leftover(
            leftover,
            target,
            retry_seconds=wait,
            notify=lambda text: info(f"  {text}"),
            even_restarted=even_restarted,
        )
    except TuibenchError as error:
        info(f"  {error}")
        return False
    for one in restored:
        typer.echo(f"  {sanitize.text(one.text)}")
    if any(one.outcome is RestoreOutcome.UNCLEAR for one in restored):
        info(f"  to keep a value that is not known to be tuibench's: remove {leftover.path}")
    return not any(one.pending for one in restored) and not leftover.problem


JSON_LINES = "jsonl"
FORMATS = (TEXT, JSON, JSON_LINES)


def watch(
    server: ServerOptions,
    options: Annotated[PlanValues, Takes("watch")],
    session: SessionOptions,
    background: BackgroundOptions,
    screen: ScreenOptions,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            rich_help_panel="Output",
            metavar="FORMAT",
            help="Without a screen: text, json or jsonl.",
        ),
    ] = "",
) -> None:
    """Throughput, commits and statement times are counted by the server, for all of its clients. Settings
    can be changed as in every session: changes are journalled, and restored at the end. Nothing is
    enabled in the server. Without --format the live screen opens; with it, there is no screen: interval
    lines and a summary (text), the summary alone (json), or a line for each sample and event, then the
    summary (jsonl).
    """
    from tuibench.cli.headless import run_headless_watch, warn_leftovers
    from tuibench.cli.runner import new_session_spec, require_terminal, run_async, run_session

    session.keep_records()
    plan = make_plan(options, WATCH, {}, is_watch=True, threads=0)
    if form:
        check_format(form, FORMATS)
    if form and (background.detach or background.grace is not None):
        raise UsageError(
            "--format cannot be combined with a session in the background", "use tuibench ctl status"
        )
    if not (form or background.detach):
        require_terminal("--format=text, or --detach")
    warn_leftovers()
    display = None if form or background.detach else screen.display_options()
    spec = background.spec(new_session_spec(plan, server.target(), yes_this_server=session.yes_this_server))
    if form:
        raise typer.Exit(run_async(run_headless_watch(spec, form)))
    raise typer.Exit(run_session(spec, background, display))
