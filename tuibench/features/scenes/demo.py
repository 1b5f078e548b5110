"""`tuibench demo`: a private server with small tables, and the live screen on it."""

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import typer
from msgspec.structs import replace

from tuibench.base.errors import ExitCode, UsageError
from tuibench.cli import candidates
from tuibench.cli.headless import HeadlessOutput, run_headless
from tuibench.cli.options import (
    CONTEXT,
    AdhocSqlOptions,
    BackgroundOptions,
    PrivateServerOptions,
    ScreenOptions,
    SessionOptions,
    make_plan,
    parse_profile_options,
)
from tuibench.cli.runner import (
    end_viewer,
    is_on_terminal,
    open_viewer,
    private_server,
    run_async,
    spec_on_private_server,
    start_detached,
    start_session,
)
from tuibench.cli.tables import make_tables
from tuibench.cli.typer_command import OmitOptions, PlanValues, Takes
from tuibench.load.tables import LoadOptions
from tuibench.model.hardware import DISK_SUBJECT, Hardware, parse_hardware
from tuibench.model.message import SessionSpec
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.compiler import known_options
from tuibench.workload.options import canonical_name
from tuibench.workload.script import ALLOW_IO
from tuibench.workload.sql import only_acts_on_tables

if TYPE_CHECKING:
    from tuibench.features.scenes.scene import Scene, ScenePlayer
    from tuibench.tui.styled_app import DisplayOptions

__all__ = ["CONTEXT", "demo"]


DEMO_DATA: dict[str, OptionValue] = {"tables": 4, "table_size": 100_000}
HEADLESS_SECONDS = 15.0
LOADING_CONNECTIONS = 4


class SceneOptions(msgspec.Struct, frozen=True):
    """The scene to play, if any."""

    SECTION: ClassVar = "Scene"

    scene: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="Play a scene: durability, crash, lost-updates, ddl, threads, hot-rows, network, "
            "cache, overload, probe, or a file.",
        ),
    ] = ""
    by_space: Annotated[
        bool, typer.Option("--by-space", help="Each text of the scene stays until you press space.")
    ] = False
    loop: Annotated[bool, typer.Option("--loop", help="Repeat the scene.")] = False

    def load(self, *, is_possible: bool) -> "Scene | None":
        """The validated scene; None if none was given.

        Raises UsageError for an unknown or invalid scene, or if `is_possible` is False.
        """
        if not self.scene:
            for given, option in ((self.by_space, "--by-space"), (self.loop, "--loop")):
                if given:
                    raise UsageError(f"{option} requires a scene", "name one: --scene durability")
            return None
        if not is_possible:
            raise UsageError("a scene needs a terminal, and has its own load", "leave out the other options")
        from tuibench.features.scenes.scene import load_scene

        scene = load_scene(self.scene)
        _check_catalogue(scene, self.scene)
        return scene

    def player(self, scene: "Scene | None") -> "ScenePlayer | None":
        from tuibench.features.scenes.scene import ScenePlayer

        return ScenePlayer(scene, by_space=self.by_space, loop=self.loop) if scene is not None else None


def _check_catalogue(scene: "Scene", source: str) -> None:
    """Check the presets, settings and screens of a scene. Raises UsageError with the step that is invalid."""
    from tuibench.tui.screens.tabs import TABS_BY_NAME
    from tuibench.tuning.catalogue import all_presets, find_preset, find_setting

    for number, step in enumerate(scene.steps, 1):
        try:
            if step.set is not None and step.set.sql and not only_acts_on_tables(step.set.sql):
                raise UsageError(
                    f"set.sql: a scene reads, writes and changes tables, and nothing else: {step.set.sql}",
                    "a setting is changed with set.setting; while the scene is played, ! runs any statement",
                )
            if step.set is not None and step.set.preset:
                find_preset(all_presets(), step.set.preset)
            for name in step.set.setting if step.set is not None else ():
                find_setting(name)
            if step.show and step.show not in TABS_BY_NAME:
                raise UsageError(
                    f"there is no screen '{step.show}'", f"valid: {', '.join(sorted(TABS_BY_NAME))}"
                )
        except UsageError as error:
            raise UsageError(f"{source}: step {number}: {error.message}", error.hint) from None


def demo(
    context: typer.Context,
    adhoc: AdhocSqlOptions,
    options: Annotated[PlanValues, Takes("demo")],
    session: Annotated[SessionOptions, OmitOptions("yes_this_server")],
    background: BackgroundOptions,
    screen: ScreenOptions,
    scenes: SceneOptions,
    private: PrivateServerOptions,
    profile: Annotated[
        str,
        typer.Option(
            autocompletion=candidates.profiles,
            metavar="PROFILE",
            help="Profile to run; with --sql, the profile whose tables to create.",
        ),
    ] = "oltp_read_write",
    headless: Annotated[
        bool, typer.Option("--headless", help="No screen: interval lines and summary.")
    ] = False,
    program_file: Annotated[
        str,
        typer.Option(
            "--server", metavar="FILE", help="Server program, mariadbd or mysqld [the first one found]."
        ),
    ] = "",
    disk: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="Simulate a disk: fsync=2ms,read=0.3ms,write=0,jitter=20%,iops=500, or redo.fsync=2ms of "
            "one kind of file; 0: none until the key N or `ctl disk` sets one.",
        ),
    ] = "",
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the server running, and print how to connect to it.")
    ] = False,
    no_hints: Annotated[
        bool, typer.Option("--no-hints", help="Do not suggest a first change on the screen.")
    ] = False,
) -> None:
    """The server uses a temporary directory and is always removed at the end, unless --keep is given.
    Without a terminal there is no screen.
    """
    on_screen = not headless and is_on_terminal()
    scene = scenes.load(is_possible=on_screen and not background.detach and not adhoc.is_given)
    profile, text = (scene.profile, scene.profile_text) if scene is not None else (profile, "")
    if scene is not None and "threads" not in options.given:
        options = options.replaced(threads=scene.threads)
    if "time" not in options.given:
        options = options.replaced(time=None if on_screen or background.detach else HEADLESS_SECONDS)
    session.keep_records()
    of_profile = _profile_options(profile, text, scene, context.args)
    program = library.load_program(profile, of_profile, text)
    plan = adhoc.apply_to(make_plan(options, profile, {} if adhoc.is_given else of_profile))
    plan = replace(plan, profile_text=text) if text else plan
    background.check_port_free()
    background.validate()
    is_shown, coach = on_screen and not background.detach, not no_hints and scene is None
    display = screen.display_options()._replace(coach=coach) if is_shown else None
    delays = _disk(disk, plan, scene)
    with private_server(program_file, private, keep=keep, disk=delays) as server:
        run_async(make_tables(server.target, program, LoadOptions(parallel=LOADING_CONNECTIONS)))
        spec = background.spec(spec_on_private_server(plan, server))
        code = _run_demo(spec, server, background, display, scenes.player(scene))
    raise typer.Exit(code)


def _disk(text: str, plan: RunPlan, scene: "Scene | None") -> Hardware | None:
    """The simulated disk, also without delays for what changes it later; None if nothing does."""
    if text:
        return parse_hardware(text)
    is_tested = plan.trial is not None and plan.trial.subject.startswith(DISK_SUBJECT)
    return Hardware() if is_tested or (scene is not None and scene.has_disk) else None


def _profile_options(
    profile: str, text: str, scene: "Scene | None", words: list[str]
) -> dict[str, OptionValue]:
    """The options of the profile, in ascending precedence: the demo's table sizes, those of the scene, those
    on the command line.
    """
    parsed = library.parse_profile(text, profile) if text else library.load_profile(profile)
    data = DEMO_DATA if set(DEMO_DATA) <= set(known_options(parsed)) else {}
    of_scene = {canonical_name(name): value for name, value in scene.options.items()} if scene else {}
    if ALLOW_IO in of_scene:
        raise UsageError(
            f"a scene cannot give its script {ALLOW_IO}",
            "--allow-script-io beside --scene does, if you trust it",
        )
    return {**data, **of_scene, **parse_profile_options(words)}


def _run_demo(
    spec: SessionSpec,
    server: PrivateServer,
    background: BackgroundOptions,
    display: "DisplayOptions | None",
    scene: "ScenePlayer | None",
) -> ExitCode:
    """Run the demo in the background, on the screen, or headless."""
    if background.detach:
        code = start_detached(spec, background)
        server.release()
        return code
    if display is not None:
        # A session that continues keeps the server alive, so that it can restore settings and complete its
        # record.
        socket = run_async(start_session(spec, background.grace_seconds))
        ended = open_viewer(socket, display, scene=scene)
        if ended is None:
            server.release()
        return end_viewer(ended, socket)
    _, code = run_async(run_headless(spec, HeadlessOutput()))
    return code
