"""Files of somebody who means harm: a command in every text, archives that are no archives.

`try_file` hands one to what reads it, as far as the start of the first process, and says what went wrong: a
command that was run, a connection, a file outside, an error that is none of ours, or a plan that would act.

    python -m tests.unit.hostile.strangers [COUNT]
"""

import contextlib
import copy
import gzip
import hashlib
import io
import json
import os
import random
import re
import shlex
import sys
import tarfile
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec

from tests import sweeps
from tests.examples import SERVER
from tests.unit.record.steady import steady
from tuibench.base import config
from tuibench.base.document import write_text
from tuibench.base.errors import TuibenchError
from tuibench.cli.server_options import ServerOptions
from tuibench.features.blackbox.frames import NAME, BlackBox, Frame, SampleFigures, SessionRow, read_box
from tuibench.features.blackbox.page import blocks, listing, page
from tuibench.features.scenes import demo
from tuibench.features.scenes.scene import load_scene
from tuibench.features.sweep import reproduction
from tuibench.features.sweep.execution import resumed
from tuibench.features.sweep.planning import all_cells, cell_plan, max_threads
from tuibench.metrics.figures import FIGURES
from tuibench.model.callers import Backoff, Breaker, OnDeadline, QueueOrder
from tuibench.model.cluster import ClusterPlan
from tuibench.model.effect import AbTestPlan
from tuibench.model.event import Trouble, TroubleKind
from tuibench.model.hardware import Hardware
from tuibench.model.option import At
from tuibench.model.plan import (
    ISOLATION_LEVELS,
    Arrival,
    Backlog,
    EngineChoice,
    OnError,
    RunPlan,
)
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import ConstantStage, Quantity
from tuibench.model.sweep import ServerBuild, SweepPlan, SweepVariant, VersionsSetup
from tuibench.model.tune import TunePlan
from tuibench.record.reader import load_run
from tuibench.record.sweep_folder import RECORD, SweepFolder, load_sweep
from tuibench.report.reproduce import reproduction_commands
from tuibench.report.run_report import html_report, run_markdown
from tuibench.report.text import csv_text, sysbench_text
from tuibench.servers.binaries import Binary
from tuibench.servers.process import read_server_options
from tuibench.session.interventions import Interventions
from tuibench.session.replay import ReplayClient
from tuibench.tuning.catalogue import all_presets
from tuibench.workload import library, script

CANARY = "/var/tmp/tuibench-canary"
"""The file that every command would make."""
COMMANDS = (
    f"exec:touch {CANARY}", f"$(touch {CANARY})", f"`touch {CANARY}`", f"; touch {CANARY} #",
    f"'; touch {CANARY}; '", f'"$MYSQL_PWD"; touch {CANARY}', f"| touch {CANARY}", f"a\ntouch {CANARY}\n",
    f"--general-log-file={CANARY}", f"--log-error={CANARY}", f"--general-log-f={CANARY}",
    f"--password-command=touch {CANARY}", f"ssh:-oProxyCommand=touch {CANARY}", "--allow-script-io",
    f"--at=0s exec:touch {CANARY}", f"exec:sh -c 'touch {CANARY}'", CANARY, f"../../../../../..{CANARY}",
    f"SET GLOBAL general_log_file='{CANARY}'", f"SELECT 1 INTO OUTFILE '{CANARY}'", "/etc/passwd",
    f"SELECT 1; SET GLOBAL slow_query_log_file='{CANARY}'", "INSTALL SONAME 'evil'",
    f"/*! SET GLOBAL general_log_file='{CANARY}' -- */ SELECT 1", f"x.lua;{CANARY}", "x.lua", "sql", "",
)  # fmt: skip
SQL = tuple(each for each in COMMANDS if each.startswith(("SET ", "SELECT ", "INSTALL ", "/*!")))
CHOICES = (
    "schema", "flavour", "ssl_mode", "on_error", "arrival", "backlog", "engine", "order", "start", "bisect",
    "type", "outcome", "kind", "location", "state", "verdict", "version", "isolation",
)  # fmt: skip
"""Fields of few words: any other is refused before the rest is read."""
ODD: tuple[Any, ...] = (None, True, -1, 0, 10**12, 1e17, -0.5, [], {}, [[]], "9" * 400, "\0", "\x1b[2J", "é")
PROGRAM = "/usr/sbin/mariadbd"
OPTIONS = ("--innodb-flush-method=O_DIRECT", "--innodb-buffer-pool-size=64M", "--skip-name-resolve")


class Watch:
    """What this process does that a file of a stranger must not make it do."""

    def __init__(self, allowed: Path) -> None:
        self.seen: list[str] = []
        self.is_on = False
        self._allowed = (str(allowed), "/dev/null")
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event.startswith(("subprocess.", "os.exec", "os.system", "os.posix_spawn", "os.fork", "os.spawn")):
            self.seen.append(f"{event} {arguments!r:.200}")
        elif event in ("socket.connect", "socket.sendto"):
            self.seen.append(f"{event} {arguments[1:]!r}")
        elif event == "open" and isinstance(arguments[0], str | bytes):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            place = os.path.abspath(os.fsdecode(arguments[0]))
            is_write = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if is_write and not place.startswith(self._allowed) and ".pyc." not in place:
                self.seen.append(f"open {place}")


def commands_in(dice: random.Random, document: Any) -> Any:
    """The document with commands: in some of its texts, in each, or as what a plan does beside its load."""
    document = copy.deepcopy(document)
    places = list(_leaves(document))
    texts = [each for each in places if isinstance(each[0][each[1]], str)]
    if dice.random() < 0.9:
        texts = [each for each in texts if each[1] not in CHOICES]
    chosen = texts if dice.random() < 0.1 else dice.sample(texts, min(len(texts), dice.randint(0, 3)))
    for holder, key in chosen:
        holder[key] = dice.choice(COMMANDS)
    if dice.random() < 0.3:
        for holder, key in dice.sample(places, min(len(places), dice.randint(1, 2))):
            holder[key] = copy.deepcopy(dice.choice(ODD))
    for holder in _plans(document):
        if dice.random() < 0.4:
            holder.update(_deeds(dice))
    for holder in _with_key(document, "options"):
        if isinstance(holder["options"], list) and dice.random() < 0.4:
            holder["options"] = [*holder["options"], dice.choice(COMMANDS)]
    for holder in _with_key(document, "load"):
        if dice.random() < 0.2:
            name = dice.choice(("host_metrics", "profile", "profile_text", "interventions", "rate", "figure"))
            holder["load"] = {name: dice.choice((*COMMANDS, 5, True))}
    if dice.random() < 0.1:
        lists = [each for each in places if isinstance(each[0], list)]
        for holder, _ in lists and [dice.choice(lists)]:
            holder.clear()
    return document


def _deeds(dice: random.Random) -> dict[str, Any]:
    """Fields of a plan that has all of them: each text a command, or as a user writes it."""
    deeds = msgspec.to_builtins(FULL) | {
        "profile_text": PROFILE.replace("SELECT c FROM sbtest1 WHERE id = 1", dice.choice(SQL))
    }
    chosen = {name: copy.deepcopy(deeds[name]) for name in dice.sample(sorted(deeds), dice.randint(1, 3))}
    for holder, key in list(_leaves(chosen)):
        if isinstance(holder[key], str) and key != "profile_text" and dice.random() < 0.6:
            holder[key] = dice.choice(COMMANDS)
    return chosen


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, each in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        if isinstance(each, dict | list) and each:
            yield from _leaves(each)
        yield value, key


def _with_key(value: Any, name: str) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and name in value:
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _with_key(each, name)


def _plans(document: Any) -> Iterator[dict[str, Any]]:
    return _with_key(document, "interventions")


FULL = RunPlan(
    profile="/tmp/evil.lua",
    options={"allow_script_io": True, "tables": 1},
    threads=3,
    seconds=5.0,
    events=7,
    warmup_seconds=1.0,
    rate=50.0,
    schedule=(ConstantStage(quantity=Quantity.RATE, level=40.0, seconds=2.0),),
    arrival=Arrival.CONSTANT,
    backlog=Backlog.DROP,
    deadline_ms=200.0,
    attempts=2,
    backoff=Backoff(first_ms=5.0),
    queue=QueueOrder.LIFO,
    retry_budget=10.0,
    breaker=Breaker(percent=50.0, seconds=5.0),
    on_deadline=OnDeadline.KILL,
    client_delay_ms=2.0,
    interval_seconds=0.5,
    opening_seconds=20.0,
    seed=7,
    percentiles=(99.0,),
    ignored_errors=None,
    on_error=OnError.CONTINUE,
    max_retries=3,
    isolation="read-committed",
    prepared=False,
    workers=2,
    trial=AbTestPlan(subject="disk.fsync", a="0", b="2ms"),
    hardware=Hardware(delays_ms={"fsync": 2.0, "redo.write": 1.0}, jitter_percent=5.0, iops=500.0, cpus=1.5),
    tune=TunePlan(only=("durability",), objectives=("p95<20ms",), resume="/tmp/evil", apply=True),
    probe=ProbeOrder(slo=("p95<20ms",)),
    report_seconds=2.0,
    checkpoints=(1, 2),
    histogram=True,
    figure="p95",
    interventions=(At(0.2, "exec:id"), At(0.4, "DROP TABLE sbtest1")),
    guard=("tps>80%",),
    profile_text="p",
    sql_words=("--sql=SELECT 1",),
    engine=EngineChoice.ASYNCIO,
    cluster=ClusterPlan(places=("exec:id",), program="sh -c id", ca="/c", cert="/c", key="/k", insecure=True),
    is_watch=True,
    users=9,
    idle_connections=2,
    reconnect=4,
    connect_rate=1.0,
    host_metrics="ssh:db1",
    no_waits=True,
    no_black_box=True,
    no_keys=True,
    cpu_profile=True,
    replicas=("db2",),
    max_lag_seconds=3.0,
    deviations=("d",),
)
"""A plan with another value than the default in each field."""
BESIDE = (
    "cluster", "cpu_profile", "deviations", "guard", "hardware", "host_metrics", "interventions", "is_watch",
    "max_lag_seconds", "probe", "replicas", "sql_words", "trial", "tune",
)  # fmt: skip
"""Fields of which a reproduction has nothing: they are more than the load, or of the other host."""
WORDS = {"figure": FIGURES, "isolation": ("", *ISOLATION_LEVELS)}
"""What a text that is used may be."""

PROFILE = """
name = "p"
summary = "s"
data_set = "sbtest"
[[transactions]]
name = "t"
autocommit = true
[[transactions.steps]]
[[transactions.steps.statements]]
name = "point"
sql = "SELECT c FROM sbtest1 WHERE id = 1"
"""
SCENE = """
title = "t"
profile = "oltp_read_only"
threads = 2
options = { table_size = 100 }
[[steps]]
say = "one"
[[steps]]
set = { sql = "ALTER TABLE sbtest1 FORCE", preset = "unsafe" }
[[steps]]
set = { setting = { sync_binlog = "0" } }
[[steps]]
set = { hardware = "fsync=2ms" }
[[steps]]
set = { delay = "2ms" }
[[steps]]
set = { burst = "x4 3s" }
[[steps]]
set = { callers = { deadline = "200ms" } }
[[steps]]
probe = { slo = ["p95<20ms"] }
[[steps]]
show = "live"
"""
LUA = """
local attempts = { function() os.execute(COMMAND) end, function() io.popen(COMMAND) end,
  function() io.open("CANARY", "w") end, function() require("ffi").C.system(COMMAND) end,
  function() package.loadlib("libc.so.6", "system")(COMMAND) end, function() dofile("CANARY") end,
  function() loadfile("CANARY") end, function() os.rename("CANARY", "CANARY2") end,
  function() debug.sethook() end, function() require(COMMAND) end,
  function() loadstring(COMMAND)() end, function() os.tmpname() end }
for _, attempt in ipairs(attempts) do pcall(attempt) end
sysbench.cmdline.options = { tables = { COMMAND, 1 } }
function event() end
"""
OPTION_FILE = """
[client]
host = db1
user = app
password = x
socket = s
ssl-ca = f
[tuibench]
database = d
ssl-key = k
server-public-key-path = p
password-command = echo
[mysqld]
general_log_file = f
plugin_dir = d
plugin_load_add = f
init_connect = q
sort_buffer_size = 1M
"""
CONFIG = """
[presets.mine]
risk = "some"
settings = { sync_binlog = "0" }
[keys]
pause = "i"
[screen]
charts = "tps"
"""


class Stranger:
    """Makes and tries such files. `folder` is the only place where anything may be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.watch = Watch(folder)
        self._run = steady(folder / "origin", "run-1")
        self._sweep = self._recorded_sweep()
        self.kinds: dict[str, Callable[[random.Random], None]] = {
            "bundle of a run": lambda dice: self._bundle(dice, "runs", self._run),
            "bundle of a sweep": lambda dice: self._bundle(dice, "sweep", self._sweep),
            "record": self._record,
            "black box": self._black_box,
            "sweep to resume": self._resumed,
            "scene": self._scene,
            "profile": self._profile,
            "script": self._script,
            "option file": self._option_file,
            "configuration": self._configuration,
            "archive": self._archive,
        }

    def try_file(self, kind: str, seed: int) -> tuple[str, str]:
        """How one of the files ended: `run`, `refused` or what is wrong; and what was said."""
        dice = random.Random(f"{kind} {seed}")
        self.watch.seen.clear()
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                self.watch.is_on = True
                self.kinds[kind](dice)
            ended = "run"
        except TuibenchError as error:
            ended, said = "refused", io.StringIO(str(error))
        except Exception:
            ended, said = "no error of ours", io.StringIO(traceback.format_exc())
        finally:
            self.watch.is_on = False
        if self.watch.seen:
            ended = "; ".join(self.watch.seen)
        if os.path.exists(CANARY):
            os.unlink(CANARY)
            ended = "the command was run"
        return ended, said.getvalue()

    def _bundle(self, dice: random.Random, kind: str, record: Path) -> None:
        contents = {
            f"record/{record.name}/{path.relative_to(record)}": path.read_bytes()
            for path in record.rglob("*")
            if path.is_file()
        }
        for name in contents:
            if name.endswith((".json", "results.jsonl")) and dice.random() < 0.6:
                contents[name] = _changed(dice, contents[name])
        manifest = {
            "schema": "tuibench.bundle/1",
            "tuibench": "1",
            "kind": kind,
            "records": dice.choice(([record.name], [record.name] * 2, [], [dice.choice(COMMANDS)]))
            if dice.random() < 0.1
            else [record.name],
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        }
        if dice.random() < 0.1:
            manifest = commands_in(dice, manifest)
        place = self.folder / "bundle.tar.gz"
        place.write_bytes(_archived({"manifest.json": json.dumps(manifest).encode(), **contents}))
        self._reproduce(place)

    def _reproduce(self, place: Path) -> None:
        made: list[tuple[SweepPlan, tuple[ServerBuild, ...]]] = []
        known: list[reproduction.There] = []
        real = reproduction._consented

        def consented(there: reproduction.There, *, allow_commands: bool) -> reproduction.There:
            known.append(real(there, allow_commands=allow_commands))
            return known[-1]

        def create(plan: SweepPlan, builds: Any, *_: Any) -> None:
            made.append((plan, tuple(builds)))
            raise _StartedError

        binary = Binary(path=PROGRAM, flavour=SERVER.flavour, version=SERVER.version)
        with (
            mock.patch.object(reproduction, "create_versions", create),
            mock.patch.object(reproduction, "create_server_sweep", create),
            mock.patch.object(reproduction, "_binaries_here", return_value=[binary]),
            mock.patch.object(reproduction, "record_folder", return_value=self.folder / "sweep"),
            mock.patch.object(reproduction, "_consented", consented),
            mock.patch.object(tempfile, "tempdir", str(self.folder)),
            contextlib.suppress(_StartedError),
        ):
            reproduction.reproduce(str(place))
        for plan, builds in made:
            _check_harmless(plan, builds)
            reproduction.reproduction(known[0], load_sweep(self._sweep))

    def _record(self, dice: random.Random) -> None:
        folder = self.folder / "record"
        folder.mkdir(exist_ok=True)
        for path in self._run.iterdir():
            data = path.read_bytes()
            is_text = path.suffix in (".json", ".jsonl")
            (folder / path.name).write_bytes(_changed(dice, data) if is_text else data)
        run = load_run(folder)
        for _ in (html_report(run), run_markdown(run), list(sysbench_text(run)), list(csv_text(run))):
            continue
        ReplayClient(run)
        commands = reproduction_commands(run)
        for line in (commands.prepare, commands.tuibench):
            _check_quoted(line or "tuibench", commands.acting)

    def _black_box(self, dice: random.Random) -> None:
        folder = self.folder / "record"
        folder.mkdir(exist_ok=True)
        text = json.dumps(commands_in(dice, json.loads(_BOX))).encode()
        (folder / NAME.format(1)).write_bytes(gzip.compress(text, 1))
        box = read_box(folder)
        shown = write_text([listing([box]), *blocks(box)])
        assert "\x1b" not in shown
        page(box, "run")

    def _resumed(self, dice: random.Random) -> None:
        """Nothing of a sweep that was changed is continued."""
        folder = self.folder / "resumed"
        folder.mkdir(exist_ok=True)
        for path in self._sweep.iterdir():
            if path.is_file():
                (folder / path.name).write_bytes(path.read_bytes())
        written = _changed(dice, (folder / RECORD).read_bytes()) + b" "
        (folder / RECORD).write_bytes(written)
        resumed(str(folder), allow_commands=False).close()
        raise AssertionError("a sweep of somebody else is continued")

    def _scene(self, dice: random.Random) -> None:
        place = self.folder / "scene.toml"
        place.write_text(_toml(dice, SCENE))
        scene = load_scene(str(place))
        demo._check_catalogue(scene, "scene")
        demo._profile_options(scene.profile, scene.profile_text, scene, [])
        demo._disk("", FULL, scene)
        for step in scene.steps:
            if step.set is not None and step.set.sql:
                assert not any(word in step.set.sql for word in ("GLOBAL", "OUTFILE", "INSTALL")), (
                    step.set.sql
                )
                _check_is_sql(step.set.sql)

    def _profile(self, dice: random.Random) -> None:
        place = self.folder / "profile.toml"
        place.write_text(_toml(dice, PROFILE))
        library.load_program(str(place))

    def _script(self, dice: random.Random) -> None:
        place = self.folder / "script.lua"
        command = json.dumps(dice.choice(COMMANDS).removeprefix("exec:"))
        place.write_text(LUA.replace("COMMAND", command).replace("CANARY", CANARY))
        options = {"allow_script_io": False} if dice.random() < 0.5 else {}
        script.program(script.load(place), options)

    def _option_file(self, dice: random.Random) -> None:
        place = self.folder / "my.cnf"
        lines = OPTION_FILE.splitlines()
        if dice.random() < 0.5:
            lines.remove("password-command = echo")
        place.write_text("\n".join(_lines(dice, lines, is_quoted=False)))
        options, _ = read_server_options(
            str(place), Binary(path=PROGRAM, flavour=SERVER.flavour, version="8.4.0")
        )
        assert not any(option.partition("=")[2].startswith(("/", "~", "..")) for option in options), options
        target = ServerOptions(defaults_file=str(place)).target(lambda _: None)
        assert not target.password_command

    def _configuration(self, dice: random.Random) -> None:
        place = self.folder / "config.toml"
        place.write_text(_toml(dice, CONFIG))
        for section in config.SECTIONS:
            config.read_section(section, place)
        all_presets(place)

    def _archive(self, dice: random.Random) -> None:
        place = self.folder / "archive.tar.gz"
        place.write_bytes(dice.choice(ARCHIVES)(dice))
        self._reproduce(place)

    def _recorded_sweep(self) -> Path:
        """A sweep on two private servers."""
        names = ("one", "two")
        builds = tuple(
            ServerBuild(name=name, path="/x", flavour=SERVER.flavour, version=SERVER.version, options=OPTIONS)
            for name in names
        )
        variants = tuple(
            SweepVariant(name=name, settings={"sync_binlog": "0"}, server=name) for name in names
        )
        plan = msgspec.structs.replace(sweeps.PLAN, variants=variants)
        record = msgspec.structs.replace(sweeps.record(plan), servers=VersionsSetup(builds=builds))
        folder = self.folder / "origin" / "sweep-1"
        with contextlib.closing(SweepFolder.create(folder, record)) as written:
            for cell in all_cells(plan):
                written.add(sweeps.result(cell))
        assert (folder / RECORD).exists()
        return folder


_BOX = msgspec.json.encode(
    BlackBox(
        number=1,
        flavour=SERVER.flavour,
        reasons=("stall of 4.0 s",),
        troubles=(Trouble(TroubleKind.STALL, 100.0, 104.0),),
        start_seconds=100.0,
        end_seconds=104.0,
        frames=tuple(
            Frame(
                at_seconds=98.0 + second,
                sessions=(SessionRow(8, "Query", 1000, "updating", "UPDATE t", "app", "web1"),),
                connections=1,
                waiting=(8,),
                threads={"sleeping": 3},
                innodb="LOG",
            )
            for second in range(6)
        ),
        figures=(SampleFigures(99.0, {"tps": 5.0}),),
        events=((99.0, "threads 4 → 8"),),
        gaps=("g",),
    )
)


class _StartedError(Exception):
    """All that was read would be run now."""


def _changed(dice: random.Random, data: bytes) -> bytes:
    """Commands in a JSON document, or in the documents of lines."""
    try:
        return json.dumps(commands_in(dice, json.loads(data))).encode()
    except json.JSONDecodeError:
        lines = [json.dumps(commands_in(dice, json.loads(line))) for line in data.splitlines()]
        return "\n".join(lines).encode() + b"\n"


def _toml(dice: random.Random, text: str) -> str:
    return "\n".join(_lines(dice, text.splitlines(), is_quoted=True))


def _lines(dice: random.Random, lines: list[str], *, is_quoted: bool) -> list[str]:
    """Commands as values in some lines; now and then another line."""
    found = []
    for line in lines:
        name, sign, value = line.partition(" = ")
        if sign and is_quoted and '"' in value and dice.random() < 0.25:
            begin, *middle, end = value.split('"')
            value = "".join((begin, json.dumps(dice.choice(COMMANDS)), end if len(middle) == 1 else " }"))
        elif sign and not is_quoted and dice.random() < 0.25:
            value = dice.choice(COMMANDS).replace("\n", " ")
        found.append(f"{name}{sign}{value}")
        if dice.random() < 0.02:
            found.append(f"{dice.choice(EXTRA)} = {json.dumps(dice.choice(COMMANDS))}")
    return found


EXTRA = ("extends", "profile-text", "hook", "exec", "allow_script_io", "password-command", "sql", "command")


_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(RunPlan)}


def _check_harmless(plan: SweepPlan, builds: tuple[ServerBuild, ...]) -> None:
    """Written without the code that makes the plan."""
    for cell in all_cells(plan)[:4]:
        made = cell_plan(plan, cell)
        for name in BESIDE:
            assert getattr(made, name) == _DEFAULTS[name], name
        for name, known in WORDS.items():
            assert not getattr(made, name) or getattr(made, name) in known, name
        assert "allow_script_io" not in made.options
        program = library.load_program(
            made.profile, {**made.options, "threads": max_threads(plan)}, made.profile_text
        )
        assert program.script is None
        texts = str(program.transactions).upper()
        assert not any(word in texts for word in ("GLOBAL", "OUTFILE", "INSTALL", "/*!", "_LOG_FILE")), texts
    for build in builds:
        assert build.path == PROGRAM
        assert not any("/" in option or ".." in option for option in build.options), build.options


def _check_quoted(line: str, acting: tuple[str, ...]) -> None:
    words = shlex.split(line)
    assert shlex.join(words) == line
    assert words[0] == "tuibench"
    options = {word.partition("=")[0].replace("_", "-") for word in words}
    named = {each.split()[0].partition("=")[0].replace("_", "-") for each in acting}
    needed = {"--at", "--cluster", "--password-command", "--host-metrics", "--replica", "--defaults-file"}
    assert options & needed <= named


def _check_is_sql(sql: str) -> None:
    """The session executes it as SQL."""
    begun: list[Any] = []
    session = SimpleNamespace(
        _guard=SimpleNamespace(require_confirmation=lambda: None),
        _start=begun.append,
        _run=lambda sql, carry_out: carry_out,
        _statement="statement",
    )
    with contextlib.suppress(TuibenchError):
        Interventions.run_sql(session, sql)  # type: ignore[arg-type]
    assert set(begun) <= {"statement"}


# Archives.


def _archived(contents: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def _entry(name: str, data: bytes = b"", **fields: Any) -> bytes:
    """One entry as it stands in the archive, with a header that may lie."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def _packed(*parts: bytes, times: int = 1) -> bytes:
    """An archive of these parts, the last one so many times; it is never whole in memory."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as packed:
        for part in (*parts[:-1], *[parts[-1]] * times, bytes(1024)):
            packed.write(part)
    return stream.getvalue()


NAMES = (
    "../x", "/x", CANARY, "record/../../x", "", ".", "record/", "record//x", "a\nb", "x" * 300,
    "a/" * 900 + "b", "record/\udcff", "record/x\0y", "manifest.json/x", "record/run-1/../../../x", "C:\\x",
)  # fmt: skip


def _a_name(dice: random.Random) -> bytes:
    return _packed(_entry("manifest.json", b"{}"), _entry(dice.choice(NAMES), b"x"))


def _a_kind(dice: random.Random) -> bytes:
    kind = dice.choice([bytes([each]) for each in b"1234567ASxgLKVDN\0"])
    return _packed(_entry("record/x", b"1\n0\n", type=kind, linkname=CANARY), _entry("record/x", b"y"))


def _a_header(dice: random.Random) -> bytes:
    """A long header, or one after the other."""
    kind = dice.choice((b"x", b"g", b"L", b"K"))
    header = _entry("h", b"9" * dice.choice((1, 600, 100_000, 4 << 20)), type=kind)
    return _packed(*[header] * dice.choice((1, 2, 3)))


def _holes(dice: random.Random) -> bytes:
    """GNU's sparse files, of several forms: some hundred bytes that would be gigabytes."""
    fields = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": str(dice.choice((1 << 31, 10**18))),
    }
    text = b"".join(
        b"%d %s=%s\n" % (len(name) + len(value) + 5, name.encode(), value.encode())
        for name, value in fields.items()
    )
    sparse = _entry("record/x", b"0\n" * dice.choice((1, 1 << 20)), type=dice.choice((b"0", b"S")))
    return _packed(_entry("p", text, type=b"x"), sparse)


def _bomb(dice: random.Random) -> bytes:
    mib = dice.choice((1, 20, 40))
    name = dice.choice(("manifest.json", "record/run-1/samples.jsonl.gz", "record/run-1/plan.json"))
    data = dice.choice((b"\0", b"[", b"9", b" ")) * (1 << 20)
    return _packed(_entry(name, size=mib << 20), data, times=mib)


def _size(dice: random.Random) -> bytes:
    size = dice.choice((1 << 33, 1 << 60, 5_000, -1))
    return _packed(_entry("record/x", size=size, type=dice.choice((b"0", b"x"))), b"y" * 600)


def _many(dice: random.Random) -> bytes:
    count = dice.choice((2, 300, 21_000 if dice.random() < 0.05 else 500))
    same = dice.random() < 0.5
    return _packed(*(_entry("record/x" if same else f"record/{number}") for number in range(count)))


def _bytes(dice: random.Random) -> bytes:
    """Broken bytes of a good archive, packed again or not."""
    contents = {
        "manifest.json": json.dumps({"tuibench": "1", "kind": "runs", "records": ["x"]}).encode(),
        "record/x/y": b"z",
    }
    packed = _archived(contents)
    data = bytearray(gzip.decompress(packed) if dice.random() < 0.5 else packed)
    for _ in range(dice.randint(1, 5)):
        data[dice.randrange(len(data))] = dice.randrange(256)
    whole = bytes(data[: dice.randint(0, len(data))] if dice.random() < 0.3 else data)
    return whole if whole[:1] == b"\x1f" else gzip.compress(whole)


ARCHIVES = (_a_name, _a_kind, _a_header, _holes, _bomb, _size, _many, _bytes)


def main() -> None:
    """Tries many, and prints how they ended; the exit code is 1 if anything is wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    only = sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        os.environ["TUIBENCH_HOME"] = folder
        stranger = Stranger(Path(folder))
        kinds = only or list(stranger.kinds)
        ends: Counter[tuple[str, str]] = Counter()
        for seed in range(count):
            kind = kinds[seed % len(kinds)]
            ended, said = stranger.try_file(kind, seed)
            ends[kind, ended if ended in ("run", "refused") else "WRONG"] += 1
            if ended not in ("run", "refused"):
                print(f"{kind} {seed}: {ended}\n{said}")  # noqa: T201
    for (kind, ended), number in sorted(ends.items()):
        print(f"{number:6} {kind}: {ended}")  # noqa: T201
    # Not that of getrusage, which is inherited from the process before exec.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    print(f"most memory: {int(peak[1]) >> 10 if peak else 0} MiB")  # noqa: T201
    raise SystemExit(any(ended == "WRONG" for _, ended in ends))


if __name__ == "__main__":
    main()
