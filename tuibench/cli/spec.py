"""The session that a command is about to start: its name, and the folder of its record."""

import os
import time

from tuibench import paths
from tuibench.model.plan import Plan
from tuibench.model.target import Target
from tuibench.session.spec import SessionSpec


def session_spec(
    plan: Plan, target: Target, inherit_fds: tuple[int, ...] = (), *, yes_this_server: bool = False
) -> SessionSpec:
    """A session that starts now, named after its time and profile."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.path.basename(plan.profile).removesuffix('.toml')}"
    directory = paths.runs_dir() / stem
    number = 2
    while os.path.exists(directory):
        directory = paths.runs_dir() / f"{stem}-{number}"
        number += 1
    return SessionSpec(
        session=directory.name,
        plan=plan,
        target=target,
        run_directory=str(directory),
        inherit_fds=inherit_fds,
        yes_this_server=yes_this_server,
    )
