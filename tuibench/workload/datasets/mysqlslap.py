"""mysqlslap's table t1, with an AUTO_INCREMENT key and one column of each type."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import (
    ENGINE_OPTION,
    DataSet,
    RowFormat,
    SizeCheck,
    engine_name,
    insert_statement,
)
from tuibench.workload.datasets.random_text import ALPHANUMERICS, RandomCharacters
from tuibench.workload.datasets.row_encoding import encode_rows
from tuibench.workload.datasets.sbtest import row_count_check
from tuibench.workload.language.options import ProfileOption, integer_option
from tuibench.workload.slap.generated_sql import LARGEST_INTEGER, TABLE, TEXT_LENGTH, SlapColumns, create_sql

COLUMNS = {"id": "bigint unsigned", "intcol1": "int", "charcol1": "varchar(128)"}
INTEGER_BITS = LARGEST_INTEGER.bit_length()
NUMBER_BYTES = 11


class SlapTable(DataSet, frozen=True, kw_only=True):
    """The table, with `table_size` rows."""

    table_size: int

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "table_size": integer_option(100, "rows of the table", minimum=1),
        **ENGINE_OPTION,
    }
    TABLE_NAME_CONDITION: ClassVar[str] = f"t.table_name = '{TABLE}'"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "SlapTable":
        return cls(table_size=int(values["table_size"]), engine=engine_name(values["mysql_storage_engine"]))

    def without_rows(self) -> "SlapTable":
        return msgspec.structs.replace(self, table_size=0)

    def table_names(self) -> tuple[str, ...]:
        return (TABLE,)

    def columns(self, table: str) -> dict[str, str]:
        return COLUMNS

    def size(self, table: str) -> int:
        return self.table_size

    def size_checks(self) -> dict[str, SizeCheck]:
        return {TABLE: row_count_check(TABLE, self.table_size)}

    @property
    def row_data_bytes(self) -> int:
        return self.table_size * SlapRows.row_bytes

    def describe(self) -> str:
        return f"{self.table_size:,} rows"

    def create_sql(self, table: str) -> str:
        """mysqlslap's statement."""
        return f"{create_sql(SlapColumns(autoincrement=True))} ENGINE = {self.engine}"

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> "SlapRows":
        return SlapRows(row_format, stream)

    def prepare_command(self, profile: str) -> str:
        created = f"tuibench prepare {profile} --table-size={self.table_size}"
        return " ".join((created, *self.engine_words()))


class SlapRows:
    """Its rows: consecutive ids, a random number, a text of mysqlslap's length."""

    parameters = "iis"
    row_bytes = 2 * NUMBER_BYTES + TEXT_LENGTH + len("(,,''),")

    def __init__(self, row_format: RowFormat, stream: Random) -> None:
        self._row_format = row_format
        self._stream = stream
        self._characters = RandomCharacters.of(ALPHANUMERICS, stream)

    def sql(self, table: str, charset: str) -> str:
        return insert_statement(self._row_format, table, tuple(COLUMNS), charset)

    def block(self, first: int, count: int) -> bytes:
        numbers = [self._stream.getrandbits(INTEGER_BITS) for _ in range(count)]
        texts = self._characters.equal(count, TEXT_LENGTH)
        rows = encode_rows(self._row_format, count, (list(range(first, first + count)), numbers, texts))
        return rows[:-1] if self._row_format is RowFormat.SQL else rows
