"""The data sets that profiles run on, by name. A new one is a class like `base.DataSet` and a line here."""

from tuibench.errors import UsageError
from tuibench.workload import nearest
from tuibench.workload.datasets.base import DataSet
from tuibench.workload.datasets.bulk import Bulk
from tuibench.workload.datasets.none import NoTables
from tuibench.workload.datasets.sbtest import Sbtest
from tuibench.workload.datasets.slap import Slap
from tuibench.workload.datasets.tpcc import Tpcc
from tuibench.workload.program import Program

__all__ = ["DATA_SETS", "PROFILES", "DataSet", "data_set", "data_set_class", "describe"]

DATA_SETS: dict[str, type[DataSet]] = {
    "sbtest": Sbtest,
    "bulk": Bulk,
    "tpcc": Tpcc,
    "slap": Slap,
    "none": NoTables,
}

PROFILES = {"sbtest": "oltp_read_write", "bulk": "bulk_insert", "tpcc": "tpcc", "slap": "slap"}
"""For each data set a profile that makes it and runs on it."""


def data_set_class(name: str, source: str) -> type[DataSet]:
    """The data set of that name; `source` is the profile that asks for it. Raises UsageError."""
    if name not in DATA_SETS:
        raise UsageError(f"{source}: data_set: unknown data set '{name}'", nearest.hint(name, DATA_SETS))
    return DATA_SETS[name]


def data_set(program: Program) -> DataSet:
    """The data that a program needs, as its options describe it."""
    made = data_set_class(program.data_set, program.profile).from_options(program.options)
    return made.emptied() if program.empty else made


def describe(program: Program) -> str:
    """The data in words: 4 × 100,000 rows."""
    return data_set(program).describe()
