"""The data sets that profiles run on, by name."""

from tuibench.errors import UsageError
from tuibench.workload import nearest
from tuibench.workload.datasets.sbtest import Sbtest
from tuibench.workload.program import Program

DataSet = Sbtest

DATA_SETS: dict[str, type[DataSet]] = {"sbtest": Sbtest}


def data_set_class(name: str, source: str) -> type[DataSet]:
    """The data set of that name; `source` is the profile that asks for it. Raises UsageError."""
    if name not in DATA_SETS:
        raise UsageError(f"{source}: data_set: unknown data set '{name}'", nearest.hint(name, DATA_SETS))
    return DATA_SETS[name]


def data_set(program: Program) -> DataSet:
    """The data that a program needs, as its options describe it."""
    return data_set_class(program.data_set, program.profile).from_options(program.options)


def describe(program: Program) -> str:
    """The data in words: 4 × 100,000 rows."""
    return data_set(program).describe()
