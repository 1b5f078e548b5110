"""The rows that TPC-C's tables are loaded with, in each form that they travel in."""

from random import Random

from tuibench.workload.datasets.base import Form, into
from tuibench.workload.datasets.columns import block, parameters
from tuibench.workload.datasets.tpcc_columns import ROW_BYTES, blocks
from tuibench.workload.datasets.tpcc_sizes import Sizes, stretches
from tuibench.workload.datasets.tpcc_tables import TABLES
from tuibench.workload.datasets.tpcc_values import Values


class Rows:
    """Writes the rows of one table in one form."""

    def __init__(
        self, table: str, sizes: Sizes, loaded_c: int, loaded_at: str, stream: Random, form: Form
    ) -> None:
        self._table = table
        self._sizes = sizes
        self._form = form
        self._columns = tuple(TABLES[table].columns)
        self.parameters = parameters(TABLES[table].columns)
        self._values = Values(sizes, loaded_c, loaded_at.encode(), stream)
        self.row_bytes = ROW_BYTES[table]

    def sql(self, table: str, charset: str) -> str:
        return into(self._form, table, self._columns, charset)

    def block(self, first: int, count: int) -> bytes:
        written = b"".join(
            block(self._form, rows, columns)
            for stretch in stretches(self._sizes, self._table, first, count)
            for rows, columns in blocks(self._table, self._values, stretch)
        )
        return written[:-1] if self._form is Form.SQL else written
