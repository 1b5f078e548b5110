"""A bundle of a sweep on private servers is run again from an empty home folder."""

from pathlib import Path

import pytest

from tests.integration.support.commands import tuibench
from tuibench.base import paths
from tuibench.servers.binaries import Binary

LOAD = (
    "--threads=2", "--repeat=2", "--time=0.5", "--warmup-time=0", "--interval=0.25", "--workers=1",
    "--tables=1", "--table-size=500", "--rate=60",
)  # fmt: skip


def test_a_bundle_is_run_again_from_an_empty_home(
    any_binary: Binary, base: Path, tmp_path: Path, tuibench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(base))
    ended = tuibench("sweep", "oltp_point_select", f"--server=one:{any_binary.path}", *LOAD)
    assert ended.code == 0, ended.err
    (sweep,) = paths.sweeps_dir().iterdir()
    place = tmp_path / "bundle.tar.gz"
    ended = tuibench("bundle", str(sweep), "-o", str(place))
    assert ended.code == 0, ended.err
    home = tmp_path / "empty"
    home.mkdir()
    monkeypatch.setenv("TUIBENCH_HOME", str(home))
    ended = tuibench("reproduce", str(place), f"--server={any_binary.path}")
    assert ended.code in (0, 4), ended.err
    verdicts = [
        line
        for line in ended.out.splitlines()
        if line.rstrip().endswith(("reproduced", "differs", "cannot tell"))
    ]
    assert any("TPS" in line for line in verdicts)
    assert any("errors" in line and "reproduced" in line for line in verdicts)
    assert "server version" not in ended.out
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(data)
    refused = tuibench("reproduce", str(place))
    assert (refused.code, refused.out) in ((1, ""), (2, ""))
