"""What a run is going to ask of server and host, told by its plan and its program."""

import msgspec

from tuibench.model.plan import Plan
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program, flat_statements

KINDS = ("SELECT", "INSERT", "UPDATE", "DELETE")
OWN_CONNECTIONS = 4
"""Besides the load: sampler, settings, their guardian, and the list of sessions."""

OWN_AT_ONCE = 2
"""Those of them that every run has from its beginning: sampler and settings."""

DISK_PER_ROW_BYTE = 1.4
"""What InnoDB needs for a byte of a row: half-filled pages, the row's own head, one secondary index."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of one run.

    `statements` is how many each connection prepares, `kinds` which privileges its statements take, `stems`
    are the beginnings of its tables' names, `data_bytes` what the data set takes on disk, indexes included.
    """

    threads: int
    workers: int
    tables: int
    statements: int = 0
    kinds: tuple[str, ...] = KINDS
    stems: tuple[str, ...] = ()
    data_bytes: int = 0
    rate: float = 0.0

    @property
    def writes(self) -> bool:
        return any(kind != "SELECT" for kind in self.kinds)

    @property
    def connections(self) -> int:
        """All that tuibench opens."""
        return self.threads + OWN_CONNECTIONS


def demand_of(plan: Plan, program: Program, workers: int) -> Demand:
    """The needs of a plan, run by so many worker processes."""
    spec = data_set(program)
    return Demand(
        threads=plan.most_threads,
        workers=workers,
        tables=len(spec.table_names()),
        statements=prepared_statements(program) if plan.prepared else 0,
        kinds=kinds(program),
        stems=tuple(sorted({name.rstrip("0123456789") for name in spec.table_names()})),
        data_bytes=int(spec.row_data_bytes * DISK_PER_ROW_BYTE),
        rate=plan.rate,
    )


def prepared_statements(program: Program) -> int:
    """How many statements each connection of the load prepares."""
    return sum(statement.prepared for statement in flat_statements(program))


def kinds(program: Program) -> tuple[str, ...]:
    """The privileges that the program's statements take, in a fixed order."""
    found = {word for flat in flat_statements(program) if (word := flat.sql.split(None, 1)[0].upper())}
    found |= {"INSERT", "DELETE"} if "REPLACE" in found else set()
    return tuple(kind for kind in KINDS if kind in found)
