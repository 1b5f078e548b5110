"""The limits of control groups, from their files."""

from pathlib import Path

import pytest

from tuibench.observe.host.limits import GroupLimits, group_levels, group_path, own_limits, parse_limits


def test_the_least_of_all_levels_holds() -> None:
    files = {
        "/g/a/b/cpu.max": "400000 100000",
        "/g/a/cpu.max": "150000 100000\n",
        "/g/a/b/memory.max": "max",
        "/g/memory.max": "1000",
        "/g/a/b/cpu.stat": "throttled_usec 500000",
        "/g/a/cpu.stat": "throttled_usec 9000000",
    }
    assert parse_limits(files, "/a/b", "/g") == GroupLimits(
        cpu_cores=1.5, memory_bytes=1000, throttled_seconds=0.5
    )


@pytest.mark.parametrize("text", ["max 100000", "", "100000", "x y", "100000 0"])
def test_what_is_no_limit_is_none(text: str) -> None:
    assert parse_limits({"/g/cpu.max": text}, "/", "/g").cpu_cores is None


def test_levels() -> None:
    assert group_levels("/a/b") == ["/a/b", "/a", ""]
    assert group_levels("/") == [""]
    assert group_path(["4:memory:/x", "0::/a/b:c"]) == "/a/b:c"
    assert group_path(["4:memory:/x"]) == ""


def test_the_limits_of_this_process_in_version_2_and_1(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/box\n")
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "cpu.max").write_text("50000 100000\n")
    assert own_limits(own, tmp_path) == GroupLimits(cpu_cores=0.5)
    (tmp_path / "box" / "cpu.max").unlink()
    for folder, name, value in (
        ("cpu", "cpu.cfs_quota_us", "200000"),
        ("cpu", "cpu.cfs_period_us", "100000"),
        ("memory", "memory.limit_in_bytes", "9223372036854771712"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(f"{value}\n")
    assert own_limits(own, tmp_path) == GroupLimits(cpu_cores=2.0)
