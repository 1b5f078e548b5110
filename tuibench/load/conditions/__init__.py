"""What must hold between the tables of a data set, whatever ran on them: conditions by the data set's name.

A further data set is a module with a function from the data set to its conditions, and a line here.
"""

from collections.abc import Callable

from tuibench.load.conditions import sbtest, tpcc
from tuibench.load.conditions.base import Condition
from tuibench.workload.datasets import DataSet

CONDITIONS: dict[str, Callable[[DataSet], tuple[Condition, ...]]] = {
    "sbtest": sbtest.conditions,
    "tpcc": tpcc.conditions,
}
