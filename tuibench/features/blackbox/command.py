"""`tuibench blackbox`: what held a server up, from the readings that a session kept."""

from typing import Annotated, Literal

import msgspec
import typer

from tuibench.base import paths
from tuibench.base.document import write_text
from tuibench.base.errors import UsageError
from tuibench.cli.options import RunDir
from tuibench.cli.output import JSON, TEXT, check_format, echo_json, info, write_output
from tuibench.features.blackbox.diagnosis import Diagnosis, diagnose
from tuibench.features.blackbox.frames import BlackBox, box_numbers, read_box
from tuibench.features.blackbox.page import blocks, listing, page
from tuibench.record.reader import list_directory
from tuibench.record.store import find_run


class BlackBoxReport(msgspec.Struct, frozen=True, kw_only=True):
    """A black box with the conclusions from it."""

    schema: Literal["tuibench.blackbox-report/1"] = "tuibench.blackbox-report/1"
    run: str
    diagnosis: Diagnosis
    box: BlackBox


def blackbox(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run as in runs list, latest, or a folder.")],
    event: Annotated[
        int, typer.Option(metavar="NUMBER", help="The number of the black box; by default the last one.")
    ] = 0,
    html: Annotated[
        str, typer.Option(metavar="FILE", help="Write a page with all connections on one axis of time.")
    ] = "",
    listed: Annotated[bool, typer.Option("--list", help="List the black boxes of the run.")] = False,
    output: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="On stdout: text, json or html.")
    ] = TEXT,
    run_dir: RunDir = "",
) -> None:
    """A session keeps the minute before a stall, an outage, a broken guard or limit, and the ten seconds
    after it. This prints who held what, since when, and what changed first. The key W and ctl blackbox
    keep the last minute at any time.
    """
    check_format(output, (TEXT, JSON, "html"))
    if event < 0:
        raise UsageError("--event is the number of a black box, from 1", "tuibench blackbox RUN --list")
    paths.keep_records_in(run_dir)
    folder = find_run(run)
    if listed:
        numbers = box_numbers(list_directory(folder))
        boxes = [read_box(folder, number) for number in numbers] or [read_box(folder)]
        typer.echo(write_text([listing(boxes)]), nl=False)
        return
    box = read_box(folder, event)
    if html:
        write_output(html, (page(box, folder.name),))
        info(f"written: {html}")
        return
    if output == "html":
        typer.echo(page(box, folder.name), nl=False)
    elif output == JSON:
        echo_json(BlackBoxReport(run=folder.name, diagnosis=diagnose(box), box=box))
    else:
        typer.echo(write_text(blocks(box)), nl=False)
        others = len(box_numbers(list_directory(folder))) - 1
        if others and not event:
            info(f"tuibench: {others} more: tuibench blackbox {folder.name} --list")
