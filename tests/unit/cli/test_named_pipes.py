"""A named pipe in place of each file that a user names: refused at once, instead of a wait for its writer."""

import os
from pathlib import Path

import pytest

from tests.unit.cli.program import Program

SERVER = ("--host=127.0.0.1", "--port=1", "--user=u")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "--sql-file={}", *SERVER), 2),
        (("run", "{}.toml", *SERVER), 2),
        (("profiles", "check", "{}.toml"), 2),
        (("run", "oltp_read_only", "--defaults-file={}", *SERVER), 2),
        (("run", "oltp_read_only", "--config-file={}", *SERVER), 2),
        (("run", "oltp_read_only", "--ssl-mode=verify-ca", "--ssl-ca={}", *SERVER), 2),
        (("profiles", "from-slow-log", "{}"), 2),
        (("sweep", "--resume={}", *SERVER), 2),
    ],
)
def test_a_named_pipe(tuibench: Program, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    for name in ("pipe", "pipe.toml"):
        os.mkfifo(tmp_path / name)
    ended = tuibench(*(word.replace("{}", str(tmp_path / "pipe")) for word in words))
    assert (ended.code, ended.out) == (code, "")
    assert str(tmp_path / "pipe") in ended.err
    assert "a bug" not in ended.err
