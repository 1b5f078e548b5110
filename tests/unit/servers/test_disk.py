"""The page that a private server shares, as the library reads it (`native/disk/src/page.rs`)."""

import struct
from pathlib import Path

import pytest

from tuibench.model.hardware import parse_hardware
from tuibench.servers.disk import (
    LEASE_SECONDS,
    DiskPage,
    IoCount,
    binlog_name,
    environment,
    mean_ms,
)


def test_the_page_has_the_layout_of_the_library(tmp_path: Path) -> None:
    file = tmp_path / "disk.page"
    page = DiskPage.create(file, binlog="binlog", tmpdir=tmp_path)
    page.set(parse_hardware("fsync=2ms,data.read=0.5ms,jitter=20%,iops=500"), 7_000_000_000)
    written = file.read_bytes()
    magic, generation, lease, jitter, interval, slot = struct.unpack_from("=6Q", written)
    assert (magic, generation) == (0x7475_6964_6973_6B31, 1)
    assert lease == 7_000_000_000 + LEASE_SECONDS * 1e9
    assert (jitter, interval, slot) == (200_000, 2_000_000, 0)
    delays = [struct.unpack_from("=3Q", written, 64 + 24 * kind) for kind in range(6)]
    assert delays == [(0, 0, 0), *[(0, 0, 2_000_000)] * 2, (500_000, 0, 2_000_000), *[(0, 0, 2_000_000)] * 2]
    assert written[640:768].rstrip(b"\0") == b"binlog"
    assert written[768:1280].rstrip(b"\0") == str(tmp_path.resolve()).encode()
    page.close()


def test_counts_are_those_of_kind_and_operation(tmp_path: Path) -> None:
    file = tmp_path / "disk.page"
    DiskPage.create(file, binlog="", tmpdir=tmp_path).close()
    with file.open("r+b") as written:
        written.seek(208 + (2 * 3 + 2) * 24)
        written.write(struct.pack("=3Q", 4, 2_000_000, 6_000_000))
    page = DiskPage(file)
    assert page.counts["binlog", "fsync"] == IoCount(4, 2_000_000, 6_000_000)
    assert mean_ms(page.counts["binlog", "fsync"]) == 2
    assert page.counts["redo", "fsync"].calls == 0
    assert not page.is_attached
    page.close()


def test_the_last_binary_log_counts() -> None:
    assert binlog_name(("--log-bin=binlog", "--server-id=1"), "x") == "binlog"
    assert binlog_name(("--log-bin=binlog", "--log_bin=/elsewhere/mine.log"), "x") == "mine"
    assert binlog_name(("--log-bin",), "x") == "x"


def test_the_library_precedes_those_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert environment("/a.so", tmp_path)["LD_PRELOAD"] == "/a.so"
    monkeypatch.setenv("LD_PRELOAD", "/jemalloc.so")
    assert environment("/a.so", tmp_path) == {
        "LD_PRELOAD": "/a.so:/jemalloc.so",
        "TUIBENCH_DISK": str(tmp_path),
    }
