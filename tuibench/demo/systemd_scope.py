"""A scope of systemd for the supervisor of a limited server.

systemd owns the control groups of its units. A group beside them may lose its controllers, and with them
its limits, whenever systemd reloads. In a scope with `Delegate=`, the groups are the supervisor's own. An
ordinary user gets it from their user manager, root from the system manager; no privilege is needed.

`systemd-run --scope` asks systemd for the scope and then becomes the program: same process, same descriptors.
"""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from tuibench.demo import cgroup

BOOTED = Path("/run/systemd/system")
"""Exists if systemd is the init process (sd_booted)."""

TRIAL_SECONDS = 30.0


def scope_command(root: Path = cgroup.ROOT, booted: Path = BOOTED) -> tuple[list[str], str]:
    """What to put before a command so that it runs in a scope of its own, or the reason why it cannot.

    Both are empty on a host without systemd or without cgroup v2, where no scope is to be expected.
    """
    program = shutil.which("systemd-run")
    if program is None or not booted.exists() or not cgroup.has_controllers(root):
        return [], ""
    command = _scope_words(program)
    try:
        trial = subprocess.run(
            [*command, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"systemd-run does not respond within {TRIAL_SECONDS:.0f} s"
    except OSError as error:
        return [], f"systemd-run: {error.strerror}"
    if trial.returncode:
        lines = trial.stderr.strip().splitlines()
        return [], f"systemd-run: {lines[-1] if lines else f'exit code {trial.returncode}'}"
    return _scope_words(program), ""


def _scope_words(program: str) -> list[str]:
    """A command for one scope; the name of each is different."""
    name = f"{cgroup.SCOPE_PREFIX}{secrets.token_hex(6)}{cgroup.SCOPE_SUFFIX}"
    manager = [] if os.geteuid() == 0 else ["--user"]
    options = ["--scope", "--quiet", "--collect", "--no-ask-password", "--property=Delegate=cpu memory"]
    return [program, *manager, *options, f"--unit={name}", "--description=Private server of tuibench", "--"]
