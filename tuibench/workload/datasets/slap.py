"""mysqlslap's table t1, as it makes it with an AUTO_INCREMENT key and one column of each kind."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

import msgspec

from tuibench.model.plan import OptionValue
from tuibench.workload.datasets.base import Extent, Form, into
from tuibench.workload.datasets.characters import ALPHANUMERICS, Characters
from tuibench.workload.datasets.columns import block
from tuibench.workload.datasets.engine import engine_name
from tuibench.workload.datasets.sbtest import extent
from tuibench.workload.options import Option, integer
from tuibench.workload.slap.generated import LARGEST_INTEGER, TABLE, TEXT_LENGTH, Columns, create_sql

COLUMNS = {"id": "bigint unsigned", "intcol1": "int", "charcol1": "varchar(128)"}
INTEGER_BITS = LARGEST_INTEGER.bit_length()
NUMBER_BYTES = 11


class Slap(msgspec.Struct, frozen=True, kw_only=True):
    """The table, with `table_size` rows."""

    table_size: int
    engine: str

    OPTIONS: ClassVar[dict[str, Option]] = {
        "table_size": integer(100, "rows of the table", minimum=1),
        "mysql_storage_engine": Option(type="text", default="innodb", help="storage engine of the table"),
    }
    FAMILY: ClassVar[str] = f"t.table_name = '{TABLE}'"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "Slap":
        return cls(table_size=int(values["table_size"]), engine=engine_name(values["mysql_storage_engine"]))

    def emptied(self) -> "Slap":
        return msgspec.structs.replace(self, table_size=0)

    def table_names(self) -> tuple[str, ...]:
        return (TABLE,)

    def is_named(self, table: str) -> bool:
        return table == TABLE

    def columns(self, table: str) -> dict[str, str]:
        return COLUMNS

    def size(self, table: str) -> int:
        return self.table_size

    def piece_rows(self, table: str) -> int:
        return 0

    def extents(self) -> dict[str, Extent]:
        return {TABLE: extent(TABLE, self.table_size)}

    @property
    def row_data_bytes(self) -> int:
        return self.table_size * Rows.row_bytes

    def describe(self) -> str:
        return f"{self.table_size:,} rows"

    def create_sql(self, table: str) -> str:
        """mysqlslap's own statement."""
        return f"{create_sql(Columns(autoincrement=True))} ENGINE = {self.engine}"

    def index_sql(self, table: str) -> str:
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        return ()

    def rows(self, table: str, stream: Random, form: Form) -> "Rows":
        return Rows(form, stream)

    def prepare_command(self, profile: str) -> str:
        """What to type to make it."""
        engine = [f"--mysql-storage-engine={self.engine}"] * (self.engine.lower() != "innodb")
        return " ".join((f"tuibench prepare {profile} --table-size={self.table_size}", *engine))

    def cleanup_command(self, profile: str) -> str:
        return f"tuibench cleanup {profile}"


class Rows:
    """Its rows: ids without holes, any number, a text as long as mysqlslap's."""

    parameters = "iis"
    row_bytes = 2 * NUMBER_BYTES + TEXT_LENGTH + len("(,,''),")

    def __init__(self, form: Form, stream: Random) -> None:
        self._form = form
        self._stream = stream
        self._characters = Characters.of(ALPHANUMERICS, stream)

    def sql(self, table: str, charset: str) -> str:
        return into(self._form, table, tuple(COLUMNS), charset)

    def block(self, first: int, count: int) -> bytes:
        numbers = [self._stream.getrandbits(INTEGER_BITS) for _ in range(count)]
        texts = self._characters.equal(count, TEXT_LENGTH)
        rows = block(self._form, count, (list(range(first, first + count)), numbers, texts))
        return rows[:-1] if self._form is Form.SQL else rows
