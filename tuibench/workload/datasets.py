"""Data sets of profiles, by name. To add one, add a subclass of `dataset.DataSet` and an entry here."""

from tuibench.errors import UsageError, did_you_mean
from tuibench.slap.sql import SlapTable
from tuibench.workload.benchmarks import InsertBenchmark, SmallBank, Tatp, Ycsb
from tuibench.workload.dataset import DataSet
from tuibench.workload.program import Program
from tuibench.workload.sbtest import BulkInsertTables, NoTables, Sbtest
from tuibench.workload.tpcc import Tpcc

__all__ = ["DATA_SETS", "DEFAULT_PROFILES", "DataSet", "build_data_set", "data_set_class"]

DATA_SETS: dict[str, type[DataSet]] = {
    "sbtest": Sbtest,
    "bulk": BulkInsertTables,
    "tpcc": Tpcc,
    "slap": SlapTable,
    "ycsb": Ycsb,
    "tatp": Tatp,
    "smallbank": SmallBank,
    "ibench": InsertBenchmark,
    "none": NoTables,
}

DEFAULT_PROFILES = {
    "sbtest": "oltp_read_write",
    "bulk": "bulk_insert",
    "tpcc": "tpcc",
    "slap": "slap",
    "ycsb": "ycsb.a",
    "tatp": "tatp",
    "smallbank": "smallbank",
    "ibench": "ibench.li1",
}
"""The default profile of each data set."""


def data_set_class(name: str, source: str) -> type[DataSet]:
    """The data set with this name; `source` names the profile in errors. Raises UsageError."""
    if name not in DATA_SETS:
        raise UsageError(f"{source}: data_set: unknown data set '{name}'", did_you_mean(name, DATA_SETS))
    return DATA_SETS[name]


def build_data_set(program: Program) -> DataSet:
    made = data_set_class(program.data_set, program.profile).from_options(program.options)
    return made.without_rows() if program.empty else made
