"""Starting a session's process: what keeps it from being started is said in words."""

from pathlib import Path
from typing import cast

import pytest

from tuibench.errors import RunError
from tuibench.session import launch as launching
from tuibench.session.launch import launch
from tuibench.session.spec import ServiceSpec


async def test_a_log_that_cannot_be_written_is_said_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot write the sessions' log .*TUIBENCH_HOME"):
        await launch(cast("ServiceSpec", None), tmp_path / "file" / "sessions.log")


async def test_a_process_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "_COMMAND", ("/nowhere/python",))
    with pytest.raises(RunError, match="cannot start the session's process: No such file"):
        await launch(cast("ServiceSpec", None), tmp_path / "sessions.log")
