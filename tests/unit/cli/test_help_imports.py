"""The help of a load command imports the declared options and the model, and nothing that drives a load."""

import subprocess
import sys

import pytest

SUBJECTS = (
    "tuibench.config",
    "tuibench.demo",
    "tuibench.diagnosis",
    "tuibench.load",
    "tuibench.metrics",
    "tuibench.mysql",
    "tuibench.observe",
    "tuibench.record",
    "tuibench.session",
    "tuibench.tui",
    "tuibench.tuning",
    "tuibench.workload",
)
LIBRARIES = {
    "asyncio",
    "asyncmy",
    "cryptography",
    "hdrh",
    "platformdirs",
    "prometheus_client",
    "psutil",
    "rich",
    "socket",
    "subprocess",
    "textual",
    "tomllib",
    "uvloop",
}


@pytest.mark.parametrize(
    "command", ["run", "live", "probe", "sweep", "tune", "prepare", "cleanup", "doctor", "attach"]
)
def test_help_imports_the_options_only(command: str) -> None:
    code = (
        "import atexit, sys; from tuibench.cli.main import main; "
        "atexit.register(lambda: print(*sys.modules)); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert f"tuibench.cli.commands.{command}" in loaded
    assert not loaded & LIBRARIES
    assert not [name for name in loaded if name.startswith(SUBJECTS)]
