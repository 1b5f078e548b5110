"""`tuibench settings list`: lists the settings that can be changed, their values and required privileges.

As text, each setting has a few lines.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated

import click
import msgspec

from tuibench import sanitize
from tuibench.cli.options.server_options import ServerOptions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.parsing.click_command import Argument
from tuibench.cli.runner.event_loop import run_async
from tuibench.clock import SystemClock
from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.settings import PresetState, SettingState, SettingTopic
from tuibench.model.target import Target
from tuibench.mysql.info import server_info
from tuibench.mysql.session_defaults import connect_with_defaults
from tuibench.tuning.admin_connection import admin_connector
from tuibench.tuning.catalogue import preset_lookup
from tuibench.tuning.change.settings_manager import SettingsManager, session_journal
from tuibench.units import DASH

SCOPE_TEXT = {
    "server": "",
    "default": "; the load's connections change at once",
    "workload": "; for the load's connections only",
}
"""Sessions affected by a change, by scope of the setting; empty if it affects all."""


def settings_text(settings: Sequence[SettingState], presets: Iterable[PresetState]) -> str:
    """The settings by topic, then the presets; with a final newline."""
    return "\n".join(map(sanitize.text, [*_setting_lines(settings), *_preset_lines(presets)])) + "\n"


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
    action: Annotated[str, Argument(metavar="list", help="Action.")] = "list",
    output: TextOrJson = TEXT,
) -> None:
    """Reads from the server and changes nothing. Your own presets are in config.toml in the configuration
    folder; see docs/settings.md.
    """
    if action != "list":
        raise UsageError(f"settings has no action '{action}'", "tuibench settings list")
    check_format(output)
    presets = preset_lookup.all_presets()
    listing = run_async(_fetch_listing(server.target(), presets))
    if output == JSON:
        echo_json(listing)
        return
    click.echo(sanitize.text(f"{listing.flavour} {listing.version} at {listing.where}") + "\n")
    click.echo(settings_text(listing.settings, listing.presets), nl=False)


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
