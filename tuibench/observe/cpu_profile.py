"""The CPU profile of a server's process: `perf record` in windows of a run, its stacks, and their evaluation.

perf samples with the kernel's software clock, which also works without hardware counters, as in most virtual
machines; its times are those of the monotonic clock (`-k mono`), so that they can be placed in the run. `perf
script` reads its files after the load has ended, and they are removed. The run's record keeps
`cpu_profile.json.gz`: for each recorded second of wall time the folded stacks with their numbers of samples.
A folded stack is the thread's name and the functions from the outermost to the one that ran, separated by
`;`, as Brendan Gregg's flamegraph.pl reads it; functions of the kernel end with `_[k]`.

A function's share is the share of samples in which it ran itself. Samples within a second resemble each other
(a checkpoint, a purge), so intervals come from resampling whole seconds, not from counting samples. Among
some hundred functions, one is named only if an interval `WIDER` times as wide excludes zero and its share
moved by half a point.
"""

import asyncio
import contextlib
import gzip
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from tuibench.base import numerals, sanitize, units
from tuibench.base.clock import Clock
from tuibench.base.document import Block, Table, Text
from tuibench.base.errors import RunError, UsageError
from tuibench.metrics.inference import RatioSeries, estimate_difference, resample
from tuibench.model.effect import Comparison
from tuibench.model.event import EventKind
from tuibench.model.schedule import format_duration

PROFILE = "cpu_profile.json.gz"
RAW = "cpu_profile.{}.perf"
"""File of perf for one window, with the window's number."""
HERTZ = 99
"""Not a round number, so that samples do not stay at one phase of a load with a period of 10 ms."""
END_SECONDS, READ_SECONDS, START_SECONDS, START_PAUSE = 20.0, 120.0, 5.0, 0.05
UNKNOWN = "[unknown]"
THREAD, NAMELESS = "thread", re.compile(r":\d+")
"""perf's name for a thread that began during the recording: its number. Such a thread is called `THREAD`."""
KERNEL = "_[k]"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_HEAD = re.compile(r"^(?P<name>\S.*?)\s+\d+\s+(?P<time>\d+\.\d+):")
_FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<function>.+?)(?:\+0x[0-9a-f]+)? \((?P<file>[^()]*(?:\([^()]*\))?)\)$")


class CpuProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Folded stacks with their samples, by second of Unix time."""

    hertz: int = HERTZ
    seconds: dict[int, dict[str, int]]
    unresolved: dict[str, float] = {}
    """Shares of the samples that ended in a function without a name, by file."""

    def window(self, start: float, end: float) -> list[dict[str, int]]:
        """The whole recorded seconds between two Unix times; a second without a sample is empty."""
        whole = range(-int(-start // 1), int(end // 1))
        return [self.seconds[second] for second in whole if second in self.seconds]

    def spans(self) -> list[tuple[int, int]]:
        """The recorded spans of time: first second and the one after the last."""
        found: list[tuple[int, int]] = []
        for second in sorted(self.seconds):
            begun = found.pop()[0] if found and found[-1][1] == second else second
            found.append((begun, second + 1))
        return found


def refusal(pid: int | None) -> tuple[str, str] | None:
    """Why a process cannot be profiled, and the remedy; None if nothing is known to prevent it."""
    if pid is None:
        return (
            "the server's process is not on this host, or was not found",
            "run tuibench on the server's host",
        )
    if shutil.which("perf") is None:
        return (
            "perf is not installed",
            "install linux-perf (Debian), linux-tools-generic (Ubuntu), perf (RHEL)",
        )
    try:
        level, owner = numerals.whole(Path(PARANOID).read_text()), os.stat(f"/proc/{pid}").st_uid
    except (OSError, ValueError):
        level = None
    if level is None:
        return "the kernel has no perf events here", "containers often forbid them: run tuibench on the host"
    if os.geteuid() and (level > 2 or owner != os.geteuid()):
        return (
            f"this user may not profile the server's process (kernel.perf_event_paranoid is {level})",
            "run tuibench as root, or as the server's user with sysctl kernel.perf_event_paranoid=2",
        )
    return None


class Profiler:
    """Runs perf on one process, one window after another. `folder` is that of the run's record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._perf: asyncio.subprocess.Process | None = None
        self._begun = 0.0
        self._windows: list[tuple[Path, float, float]] = []
        self._wrong: list[str] = []

    @property
    def is_recording(self) -> bool:
        return self._perf is not None and self._perf.returncode is None

    async def start(self, pid: int | None) -> None:
        """Begin a window. Raises RunError with the reason, in perf's own words if it refuses, and
        the remedy.
        """
        await self.stop()
        if (refused := refusal(pid)) is not None:
            raise RunError(*refused)
        raw = self._folder / RAW.format(len(self._windows))
        command = [*f"perf record -q -e cpu-clock -F {HERTZ} -g -k mono -p {pid} -o".split(), str(raw)]
        self._perf = perf = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._begun = time.time()
        for _ in range(round(START_SECONDS / START_PAUSE)):
            if perf.returncode is None and not raw.exists():
                await asyncio.sleep(START_PAUSE)
        if perf.returncode is not None:
            self._perf = None
            _, said = await perf.communicate()
            raw.unlink(missing_ok=True)
            raise RunError(f"perf ended at once: {_words(said)}", f"by hand: {' '.join(command)}")
        self._begun = time.time()

    async def stop(self) -> None:
        """End the window, if one is under way. If the call is cancelled, the next one ends the window."""
        if (perf := self._perf) is None:
            return
        with contextlib.suppress(ProcessLookupError):
            perf.send_signal(signal.SIGINT)
        said = b""
        try:
            async with asyncio.timeout(END_SECONDS):
                _, said = await perf.communicate()
        except TimeoutError:
            perf.kill()
            await perf.wait()
        self._perf = None
        raw = self._folder / RAW.format(len(self._windows))
        self._windows.append((raw, self._begun, time.time()))
        if not raw.exists():
            self._wrong.append(f"no CPU profile: {_words(said)}")

    async def finish(self) -> str:
        """End perf and keep the stacks. Returns what is wrong with them; empty if nothing is."""
        await self.stop()
        if not self._windows:
            return ""
        try:
            self._wrong.append(await asyncio.to_thread(self._keep))
        except (OSError, subprocess.SubprocessError) as error:
            self._wrong.append(f"the CPU profile could not be read: {error}")
        self._windows.clear()
        return "; ".join(text for text in self._wrong if text)

    def _keep(self) -> str:
        shift = time.time() - time.monotonic()
        lines: list[str] = []
        recorded: set[int] = set()
        for raw, begun, ended in self._windows:
            if raw.exists():
                fields = "comm,tid,time,ip,sym,dso"
                command = ("perf", "script", "-i", str(raw), "-F", fields, "--ns", "--no-inline")
                done = subprocess.run(command, capture_output=True, timeout=READ_SECONDS, check=True)
                raw.unlink()
                lines += [*done.stdout.decode(errors="replace").splitlines(), ""]
                recorded.update(range(-int(-begun // 1), int(ended // 1)))
        if not recorded and not lines:
            return ""
        found = folded(lines, shift)
        seconds = {each: found.seconds.get(each, {}) for each in sorted(recorded | found.seconds.keys())}
        found = msgspec.structs.replace(found, seconds=seconds)
        (self._folder / PROFILE).write_bytes(gzip.compress(msgspec.json.encode(found)))
        return missing_symbols(found)


def _words(said: bytes) -> str:
    return sanitize.text(" ".join(said.decode(errors="replace").split())[:300]) or "perf gave no reason"


def folded(lines: Iterable[str], shift_seconds: float = 0.0) -> CpuProfile:
    """The profile in the output of `perf script`. `shift_seconds` are added to its times to get Unix time."""
    seconds: dict[int, Counter[str]] = {}
    unresolved: Counter[str] = Counter()
    whole = 0
    for name, at, frames in _stacks(lines):
        functions = [
            f"[{os.path.basename(file) or UNKNOWN}]"
            if function == UNKNOWN
            else function.replace(";", ":") + (KERNEL if file.startswith("[kernel") else "")
            for function, file in reversed(frames)
        ]
        stack = ";".join((name.replace(";", ":"), *functions))
        seconds.setdefault(int((at + shift_seconds) // 1), Counter())[stack] += 1
        whole += 1
        if frames and frames[0][0] == UNKNOWN:
            unresolved[frames[0][1]] += 1
    shares = {file: round(count / whole, 3) for file, count in unresolved.most_common()}
    return CpuProfile(seconds={second: dict(counts) for second, counts in seconds.items()}, unresolved=shares)


def _stacks(lines: Iterable[str]) -> Iterator[tuple[str, float, list[tuple[str, str]]]]:
    """Each sample: the thread's name, the time, and (function, file) from the function that ran outwards."""
    name, at, frames = "", 0.0, list[tuple[str, str]]()
    for line in (*lines, ""):
        if head := _HEAD.match(line):
            name, at, frames = head["name"], float(head["time"]), []
            name = THREAD if NAMELESS.fullmatch(name) else name
        elif frame := _FRAME.match(line):
            frames.append((frame["function"], frame["file"]))
        elif not line.strip() and name:
            yield name, at, frames
            name = ""


MANY = 0.05
"""The share of samples without a function's name from which a warning is due."""


def missing_symbols(profile: CpuProfile) -> str:
    """What to install to get the missing names of functions; empty if few are missing."""
    many = {file: share for file, share in profile.unresolved.items() if share >= MANY}
    if not many:
        return ""
    file, share = next(iter(many.items()))
    if file.startswith("[kernel"):
        remedy = "sysctl kernel.kptr_restrict=0, or root, shows those of the kernel"
    elif "mariadb" in file:
        remedy = "install mariadb-server-core-dbgsym (debian-debug), or MariaDB-server-debuginfo"
    elif "mysqld" in file:
        remedy = "install mysql-community-server-debuginfo, or mysql-server-core-dbgsym"
    else:
        remedy = "install the package with its debug symbols"
    return f"CPU profile: {share:.0%} of the samples are in functions of {file} without a name: {remedy}"


def load_profile(folder: Path) -> CpuProfile:
    """The profile of a recorded run. Raises RunError if it has none or it cannot be read."""
    try:
        return msgspec.json.decode(gzip.decompress((folder / PROFILE).read_bytes()), type=CpuProfile)
    except FileNotFoundError:
        raise RunError(
            f"{folder.name} has no CPU profile",
            "the option --cpu-profile or the key C records one; the run's events say why there is none",
        ) from None
    except (OSError, EOFError, msgspec.MsgspecError) as error:
        raise RunError(f"{folder / PROFILE}: {error}", "the file is damaged") from None


def total(window: Sequence[dict[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for second in window:
        found.update(second)
    return found


class CpuProfiling:
    """Records the whole run or windows that the operator begins. A server that cannot be recorded does not
    stop the run.

    `server_pid` returns the id of the server's process.
    """

    def __init__(
        self,
        folder: Path,
        server_pid: Callable[[], int | None],
        emit: Callable[[EventKind, str], object],
        start_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        clock: Clock,
    ) -> None:
        self._profiler = Profiler(folder)
        self._server_pid = server_pid
        self._emit = emit
        self._start_task = start_task
        self._clock = clock
        self._lock = asyncio.Lock()
        self._end: asyncio.Task[None] | None = None

    async def record_all(self) -> None:
        """Record from the start of the run; if that is not possible, an event gives the reason."""
        try:
            await self._profiler.start(self._server_pid())
        except RunError as error:
            self._emit(EventKind.WARNING, f"no CPU profile: {error.message}: {error.hint}")

    async def record(self, seconds: float) -> str:
        """Record for `seconds` from now on, even if a window is under way; 0 ends the window. Raises a
        TuibenchError with the reason and the remedy.
        """
        async with self._lock:
            is_recording = self._profiler.is_recording
            if is_recording and self._end is None and seconds:
                raise UsageError("the CPU profile of the whole run is being recorded")
            if not is_recording and not seconds:
                return "no CPU profile is being recorded"
            if self._end is not None:
                self._end.cancel()
                self._end = None
            if not seconds:
                await self._stop()
                return "the CPU profile ends"
            if not is_recording:
                await self._profiler.start(self._server_pid())
                self._emit(EventKind.MARK, "CPU profile begins")
            self._end = self._start_task(self._stop_after(seconds), "CPU profile")
            return (
                f"CPU profile of the next {format_duration(seconds)}: tuibench flame shows it after the run"
            )

    async def close(self) -> None:
        async with self._lock:
            if text := await self._profiler.finish():
                self._emit(EventKind.WARNING, text)

    async def _stop_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        async with self._lock:
            self._end = None
            await self._stop()

    async def _stop(self) -> None:
        await self._profiler.stop()
        self._emit(EventKind.MARK, "CPU profile ends")


WIDER, LEAST_POINTS = 2.0, 0.5
FEWEST_SECONDS = 4
MOST_FUNCTIONS = 20

Window = Sequence[dict[str, int]]


def is_sure(change: Comparison) -> bool:
    """True if a function's share certainly changed, by enough to be worth a line."""
    return abs(change.delta) >= LEAST_POINTS and change.excludes_zero(WIDER)


def changed_functions(before: Window, after: Window) -> list[Comparison]:
    """Each function's share of the samples in percent, before and after, by the size of the change; empty if
    there are too few seconds for an interval.
    """
    if min(len(before), len(after)) < FEWEST_SECONDS or not (total(before) and total(after)):
        return []
    sides = [[_own(second) for second in window] for window in (before, after)]
    found = []
    for function in {name for side in sides for second in side for name in second}:
        old, new = (
            RatioSeries(
                [100.0 * second[function] for second in side], [float(second.total()) for second in side]
            )
            for side in sides
        )
        if max(old.ratio, new.ratio) >= LEAST_POINTS:
            found.append(estimate_difference(function, old.ratio, new.ratio, resample(old, new)))
    return sorted(found, key=lambda each: (-abs(each.delta), each.figure))


def _own(stacks: Mapping[str, int]) -> Counter[str]:
    """The number of samples in which each function itself ran."""
    counts = Counter[str]()
    for stack, count in stacks.items():
        counts[stack.rpartition(";")[2]] += count
    return counts


def function_blocks(window: Window) -> list[Block]:
    """Each function's share of the samples in percent, the largest first."""
    counts = _own(total(window))
    whole = counts.total()
    rows = [
        (function, f"{100 * count / whole:.1f} %") for function, count in counts.most_common(MOST_FUNCTIONS)
    ]
    return (
        [Table(header=("function", "share"), rows=tuple(rows))]
        if rows
        else [Text(("No samples in this time.",))]
    )


def difference_blocks(before: Window, after: Window) -> list[Block]:
    """The functions that certainly changed, and the number of those that did not."""
    compared = changed_functions(before, after)
    if not compared:
        return [Text((f"Too few samples: each window needs {FEWEST_SECONDS} whole seconds with some.",))]
    sure = [each for each in compared if is_sure(each)]
    rest = len(compared) - len(sure)
    rows = tuple(
        (
            each.figure,
            f"{each.before:.1f} %",
            f"{each.after:.1f} %",
            f"{units.signed(each.delta, 1)} points",
            f"{units.signed(each.low, 1)}..{units.signed(each.high, 1)}",
        )
        for each in sure[:MOST_FUNCTIONS]
    )
    note = Text((f"{units.pluralize(rest, 'function')} did not change beyond the noise.",))
    if not rows:
        return [Text(("No function changed beyond the noise.",)), note]
    return [Table(header=("function", "before", "after", "change", "95 %"), rows=rows), note]


def folded_text(windows: Sequence[Window]) -> str:
    """Stacks for flamegraph.pl; two windows have two counts each, in the format of difffolded.pl."""
    counts = [total(window) for window in windows]
    stacks = sorted({stack for each in counts for stack in each})
    return "".join(f"{stack} {' '.join(str(each[stack]) for each in counts)}\n" for stack in stacks)


def speedscope(windows: Mapping[str, Window]) -> str:
    """The file format of speedscope.app, with one profile for each window."""
    frames: dict[str, int] = {}
    profiles: list[dict[str, Any]] = []
    for name, window in windows.items():
        counts = total(window)
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": counts.total(),
                "samples": [
                    [frames.setdefault(part, len(frames)) for part in stack.split(";")] for stack in counts
                ],
                "weights": list(counts.values()),
            }
        )
    shared = {"frames": [{"name": name} for name in frames]}
    schema = "https://www.speedscope.app/file-format-schema.json"
    return json.dumps({"$schema": schema, "shared": shared, "profiles": profiles, "exporter": "tuibench"})


PAGE_WIDTH, ROW = 1180, 18
LEAST_WIDTH = 0.6
"""Pixels below which a function is not drawn."""
_LETTER = 7
_STYLE = (
    "body{font:13px system-ui,sans-serif;margin:16px;background:#fff;color:#222}"
    "text{font:11px ui-monospace,monospace;pointer-events:none}rect{stroke:#fff;stroke-width:.5}"
    "pre{font-size:12px}"
)


class Node:
    """A function in the flame graph, with its callees."""

    def __init__(self) -> None:
        self.counts = [0, 0]
        """Samples in each window."""
        self.called: dict[str, Node] = defaultdict(Node)


def flame_page(title: str, windows: Mapping[str, Window], text: str) -> str:
    """A page with the flame graph of the last window. With two windows, the colour of a function shows its
    change: red for a larger share of the samples, blue for a smaller one.
    """
    root, counts = Node(), [total(window) for window in windows.values()]
    for place, each in enumerate(counts):
        for stack, count in each.items():
            node = root
            node.counts[place] += count
            for part in stack.split(";"):
                node = node.called[part]
                node.counts[place] += count
    last = len(counts) - 1
    wholes = [max(each.total(), 1) for each in counts]
    shapes: list[str] = []
    depth = _draw(root, "all", 0.0, 0, last, wholes, shapes)
    height = (depth + 1) * ROW
    body = "".join(shapes)
    key = "Red: larger share of the samples than before. Blue: smaller. " if last else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>{key}Width: share of the samples. Hover for the numbers.</p>"
        f'<svg role="img" aria-label="Flame graph" width="{PAGE_WIDTH}" height="{height}" '
        f'viewBox="0 {-height} {PAGE_WIDTH} {height}">{body}</svg><pre>{escape(text)}</pre></body></html>\n'
    )


def _draw(
    node: Node, name: str, left: float, depth: int, last: int, wholes: Sequence[int], shapes: list[str]
) -> int:
    """Draw a function above its caller. Returns the greatest depth reached."""
    width = PAGE_WIDTH * node.counts[last] / wholes[last]
    if width < LEAST_WIDTH:
        return depth
    shares = [100 * count / whole for count, whole in zip(node.counts, wholes, strict=False)]
    words = " → ".join(f"{share:.1f} %" for share in shares)
    top = -(depth + 1) * ROW
    letters = int((width - 4) / _LETTER)
    label = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 2 else ""
    shapes.append(
        f'<g><title>{escape(name)}: {words}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
        f'height="{ROW}" fill="{_colour(node.counts, wholes)}"/>'
        f'<text x="{left + 3:.1f}" y="{top + 13}">{escape(label)}</text></g>'
    )
    deepest = depth
    for part, called in sorted(node.called.items()):
        deepest = max(deepest, _draw(called, part, left, depth + 1, last, wholes, shapes))
        left += PAGE_WIDTH * called.counts[last] / wholes[last]
    return deepest


def _colour(counts: Sequence[int], wholes: Sequence[int]) -> str:
    """Orange without a comparison. With one: grey for a change within counting noise, otherwise a red or a
    blue that grows with the change.
    """
    if len(wholes) < 2:
        return "#f4b46a"
    before, after = (count / whole for count, whole in zip(counts, wholes, strict=True))
    error = math.sqrt(before / wholes[0] + after / wholes[1])
    strength = min(max(abs(after - before) / error - 2, 0) / 6, 1.0) if error else 0.0
    pale = round(230 - 130 * strength)
    return f"rgb(240,{pale},{pale})" if after > before else f"rgb({pale},{pale},245)"
