"""`tuibench settings list`: what can be changed on a server, what it is now, who may change it."""

from typing import Annotated

import msgspec
import typer

from tuibench.cli.formats import JSON, TEXT, TextOrJson, demand_format, echo_json
from tuibench.cli.groups import grouped
from tuibench.cli.loop import run_async
from tuibench.cli.server_options import ServerOptions
from tuibench.cli.setting_text import table
from tuibench.clock import SystemClock
from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.setting import PresetState, SettingState
from tuibench.model.target import Target
from tuibench.mysql.info import server_info
from tuibench.mysql.own import connect_own
from tuibench.tuning import own_presets
from tuibench.tuning.control import control_connect
from tuibench.tuning.tuner import Tuner, session_journal

DETAILS = (
    "Asks the server and changes nothing. Presets of your own stand in the file config.toml of the "
    "configuration folder, see docs/settings.md."
)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What `--format json` prints."""

    flavour: str
    version: str
    where: str
    settings: tuple[SettingState, ...]
    presets: tuple[PresetState, ...]


@grouped
def settings(
    server: ServerOptions,
    action: Annotated[str, typer.Argument(metavar="list", help="What to do.")] = "list",
    output: TextOrJson = TEXT,
) -> None:
    if action != "list":
        raise UsageError(f"settings cannot '{action}'", "tuibench settings list")
    demand_format(output)
    presets = own_presets.presets()
    listing = run_async(_listing(server.target(), presets))
    if output == JSON:
        echo_json(listing)
        return
    typer.echo(f"{listing.flavour} {listing.version} at {listing.where}\n")
    typer.echo(table(listing.settings, listing.presets), nl=False)


async def _listing(target: Target, presets: tuple[PresetState, ...]) -> Listing:
    info = await _info(target)
    tuner = Tuner(
        control_connect(target), session_journal("list", target, info, SystemClock()), info, presets=presets
    )
    try:
        states = await tuner.open()
    finally:
        await tuner.close()
    return Listing(
        flavour=info.flavour,
        version=info.version,
        where=info.where,
        settings=states,
        presets=tuner.presets,
    )


async def _info(target: Target) -> ServerInfo:
    connection = await connect_own(target, use_database=False)
    try:
        return await server_info(connection)
    finally:
        await connection.close()
