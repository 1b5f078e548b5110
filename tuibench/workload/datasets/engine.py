"""The name of a storage engine in a CREATE TABLE: a name and nothing else."""

import re

from tuibench.errors import UsageError

_ENGINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def engine_name(value: object) -> str:
    """The engine's name as given. Raises UsageError for what is no name."""
    engine = str(value)
    if not _ENGINE.fullmatch(engine):
        raise UsageError(f"--mysql-storage-engine: '{engine}' is not a name")
    return engine
