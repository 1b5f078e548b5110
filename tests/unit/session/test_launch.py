"""Starting a session's process: what keeps it from being started is said in words."""

from pathlib import Path
from typing import cast

import pytest

from tuibench.errors import RunError
from tuibench.session.launch import launch
from tuibench.session.spec import ServiceSpec


async def test_a_log_that_cannot_be_written_is_said_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot write the sessions' log .*TUIBENCH_HOME"):
        await launch(cast("ServiceSpec", None), tmp_path / "file" / "sessions.log")
