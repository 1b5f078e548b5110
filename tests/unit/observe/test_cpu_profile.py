"""CPU profiles: `perf script`, windows, differences, exports, refusals; when a session records one."""

import asyncio
import contextlib
import gzip
import json
import os
import random
import re
import shutil
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from tests.virtual import VirtualClock, in_no_time
from tuibench.base.document import write_text
from tuibench.base.errors import RunError, TuibenchError
from tuibench.model.event import EventKind
from tuibench.observe import cpu_profile
from tuibench.observe.cpu_profile import (
    PROFILE,
    CpuProfile,
    CpuProfiling,
    Profiler,
    changed_functions,
    difference_blocks,
    flame_page,
    folded,
    folded_text,
    function_blocks,
    is_sure,
    load_profile,
    missing_symbols,
    refusal,
    speedscope,
)

SCRIPT = """\
connection  1234 5000.250000000: 
\tffffffff8 copy_user ([kernel.kallsyms])
\t    55f0aa row_search_mvcc(unsigned char*, int)+0x12 (/usr/sbin/mariadbd)
\t    55f0ab [unknown] (/usr/sbin/mariadbd)
\t    7f0001 clone3 (/usr/lib/x86_64-linux-gnu/libc.so.6)

:1240  1240 5001.750000000: 
\t    55f0ac [unknown] (/usr/sbin/mariadbd (deleted))

connection  1234 5001.900000000: 
\t    55f0aa operator new(unsigned long) (/usr/lib/libstdc++.so)
\t    55f0ab [unknown] ([unknown])
"""  # noqa: W291 (as perf writes it)


def test_the_text_of_perf_becomes_folded_stacks_by_second_of_wall_time() -> None:
    found = folded(SCRIPT.splitlines(), shift_seconds=1000.5)
    assert found.seconds == {
        6000: {"connection;clone3;[mariadbd];row_search_mvcc(unsigned char*, int);copy_user_[k]": 1},
        6002: {"thread;[mariadbd (deleted)]": 1, "connection;[[unknown]];operator new(unsigned long)": 1},
    }
    assert found.unresolved == {"/usr/sbin/mariadbd (deleted)": 0.333}
    assert "mariadb-server-core-dbgsym" in missing_symbols(found)
    assert "33%" in missing_symbols(found)
    assert not missing_symbols(CpuProfile(seconds={}, unresolved={"/usr/sbin/mysqld": 0.01}))


def test_a_window_has_the_whole_seconds_within_it() -> None:
    found = CpuProfile(seconds={6000: {"a": 1}, 6002: {"b": 2}})
    assert found.window(5999.5, 6003.2) == [{"a": 1}, {"b": 2}]
    assert found.window(6000.1, 6001.9) == []
    assert found.spans() == [(6000, 6001), (6002, 6003)]
    assert CpuProfile(seconds={4: {}, 3: {"a": 1}, 9: {}}).spans() == [(3, 5), (9, 10)]


def seconds_of(rng: random.Random, shares: dict[str, float], count: int) -> list[dict[str, int]]:
    """Clustered seconds: in each, one of the functions has up to twice its usual number."""
    found = []
    for _ in range(count):
        favoured = rng.choice(list(shares))
        weights = {name: share * (1 + rng.random() * (name == favoured)) for name, share in shares.items()}
        drawn = rng.choices(list(weights), list(weights.values()), k=rng.randint(90, 180))
        found.append({f"main;{name}": drawn.count(name) for name in weights})
    return found


@pytest.mark.whole
def test_equal_windows_show_no_function_and_a_change_is_found() -> None:
    rng = random.Random(7)
    shares = {f"function {number}": 100 / number for number in range(1, 31)}
    for _ in range(20):
        before, after = (seconds_of(rng, shares, count) for count in (12, 9))
        assert [each.figure for each in changed_functions(before, after) if is_sure(each)] == []
    assert "No function changed" in write_text(difference_blocks(before, after))
    after = seconds_of(rng, shares | {"function 1": 20.0, "fsync": 80.0}, 12)
    sure = [each for each in changed_functions(before, after) if is_sure(each)]
    assert {"function 1", "fsync"} <= {each.figure for each in sure}
    assert all(each.low < each.after - each.before < each.high for each in sure)
    assert "fsync" in write_text(difference_blocks(before, after))
    assert "Too few" in write_text(difference_blocks(before[:3], after))


WINDOWS = {"before": [{"main;a;b": 3, "main;c": 1}], "after": [{"main;a;b": 1}, {"main;<d>": 3}]}


def test_exports_have_every_stack_with_its_counts() -> None:
    assert folded_text(list(WINDOWS.values())) == "main;<d> 0 3\nmain;a;b 3 1\nmain;c 1 0\n"
    assert folded_text([WINDOWS["before"]]) == "main;a;b 3\nmain;c 1\n"
    found = json.loads(speedscope(WINDOWS))
    names = [frame["name"] for frame in found["shared"]["frames"]]
    stacks = [[[names[place] for place in stack] for stack in each["samples"]] for each in found["profiles"]]
    assert stacks == [[["main", "a", "b"], ["main", "c"]], [["main", "a", "b"], ["main", "<d>"]]]
    assert [each["weights"] for each in found["profiles"]] == [[3, 1], [1, 3]]


def test_the_page_draws_the_second_window_and_escapes_names() -> None:
    page = flame_page("CPU", WINDOWS, "text")
    assert "<title>&lt;d&gt;: 0.0 % → 75.0 %</title>" in page
    assert "<title>a: 75.0 % → 25.0 %</title>" in page
    assert "<d>" not in page
    busy = {"before": [{"main;a": 300, "main;b": 100}], "after": [{"main;a": 100, "main;b": 300}]}
    assert {"rgb(240,100,100)", "rgb(100,100,245)"} <= set(re.findall(r"rgb[^\"]+", flame_page("", busy, "")))
    assert "rgb(230,230,245)" in page
    assert "http" not in page
    assert "50.0 %" not in flame_page("CPU", {"run": WINDOWS["before"]}, "")
    assert "75.0 %" in write_text(function_blocks(WINDOWS["before"]))


def test_why_there_is_no_profile_is_said_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "the server's host" in (refusal(None) or ("", ""))[1]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "linux-perf" in (refusal(os.getpid()) or ("", ""))[1]
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/perf")
    level = tmp_path / "level"
    monkeypatch.setattr(cpu_profile, "PARANOID", str(level))
    assert "no perf events" in (refusal(os.getpid()) or ("", ""))[0]
    level.write_text("3\n")
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    assert "perf_event_paranoid is 3" in (refusal(os.getpid()) or ("", ""))[0]
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(f"/proc/{os.getpid()}").st_uid)
    level.write_text("2\n")
    assert refusal(os.getpid()) is None


SLOW_PERF = """#!/bin/sh
[ "$1" = record ] || exit 0
for raw; do :; done
trap 'touch "$0.asked"; while [ ! -e "$0.go" ]; do sleep 0.01; done; exit 0' INT
touch "$raw"
while :; do sleep 0.01; done
"""
"""It ends when it is asked to, and then allowed to."""


async def test_a_window_whose_end_is_cancelled_is_kept_at_the_end_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    perf, run = tmp_path / "bin" / "perf", tmp_path / "run"
    perf.parent.mkdir()
    run.mkdir()
    perf.write_text(SLOW_PERF)
    perf.chmod(0o700)
    monkeypatch.setenv("PATH", f"{perf.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(cpu_profile, "refusal", lambda pid: None)
    profiler = Profiler(run)
    await profiler.start(1)
    ending = asyncio.create_task(profiler.stop())
    while not perf.with_name("perf.asked").exists():  # noqa: ASYNC110 (a file of another process)
        await asyncio.sleep(0.01)
    ending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ending
    perf.with_name("perf.go").touch()
    assert await profiler.finish() == ""
    assert [each.name for each in run.iterdir()] == [PROFILE]
    assert not profiler.is_recording


def test_a_run_without_a_profile_or_with_a_damaged_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="has no CPU profile"):
        load_profile(tmp_path)
    (tmp_path / PROFILE).write_bytes(gzip.compress(b"{}")[:-3])
    with pytest.raises(RunError, match="damaged"):
        load_profile(tmp_path)
    whole = CpuProfile(seconds={7: {"a": 1}})
    (tmp_path / PROFILE).write_bytes(gzip.compress(msgspec.json.encode(whole)))
    assert load_profile(tmp_path) == whole


BEGINS, ENDS = (EventKind.MARK, "CPU profile begins"), (EventKind.MARK, "CPU profile ends")


class PlayedProfiler:
    """Records process 7 only."""

    def __init__(self, _: Path) -> None:
        self.is_recording = False

    async def start(self, pid: int | None) -> None:
        if pid != 7:
            raise RunError("perf is not installed", "install it")
        assert not self.is_recording
        self.is_recording = True

    async def stop(self) -> None:
        self.is_recording = False

    async def finish(self) -> str:
        await self.stop()
        return ""


class Played:
    """What is told, and when."""

    def __init__(self, clock: VirtualClock, pid: int | None = 7) -> None:
        self.clock = clock
        self.told: list[tuple[float, EventKind, str]] = []
        with mock.patch.object(cpu_profile, "Profiler", PlayedProfiler):
            self.profiling = CpuProfiling(
                Path(),
                lambda: pid,
                lambda kind, text: self.told.append((clock.time(), kind, text)),
                lambda work, name: asyncio.create_task(work, name=name),
                clock,
            )


def test_a_window_ends_by_itself_and_another_request_moves_its_end() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock)
        assert "of the next 1m" in await it.profiling.record(60)
        await clock.sleep(50)
        assert "of the next 30s" in await it.profiling.record(30)
        await clock.sleep(100)
        await it.profiling.record(60)
        await clock.sleep(5)
        assert await it.profiling.record(0) == "the CPU profile ends"
        assert await it.profiling.record(0) == "no CPU profile is being recorded"
        await clock.sleep(100)
        assert it.told == [(0.0, *BEGINS), (80.0, *ENDS), (150.0, *BEGINS), (155.0, *ENDS)]

    in_no_time(scenario)


def test_without_perf_a_request_is_refused_with_the_remedy_and_a_run_goes_on() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock, pid=None)
        with pytest.raises(RunError, match="perf is not installed"):
            await it.profiling.record(60)
        assert it.told == []
        await it.profiling.record_all()
        assert it.told == [(0.0, EventKind.WARNING, "no CPU profile: perf is not installed: install it")]

    in_no_time(scenario)


def test_the_profile_of_the_whole_run_is_not_made_shorter_by_the_key_but_can_be_ended() -> None:
    async def scenario(clock: VirtualClock) -> None:
        it = Played(clock)
        await it.profiling.record_all()
        with pytest.raises(TuibenchError, match="whole run"):
            await it.profiling.record(60)
        await it.profiling.record(0)
        await it.profiling.record(60)
        assert it.told == [(0.0, *ENDS), (0.0, *BEGINS)]
        await it.profiling.close()

    in_no_time(scenario)
