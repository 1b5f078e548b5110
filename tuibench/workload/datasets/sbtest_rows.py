"""The rows of sysbench's tables: ids without holes, k as distributed, c and pad of random digits.

Ids are always given, not left to AUTO_INCREMENT: they are 1…table_size without holes also where
auto_increment_increment is above 1, and several connections can fill one table.
"""

from random import Random

from tuibench.workload.datasets.base import Form, into
from tuibench.workload.datasets.digits import Constant, Groups, Int32, Layout, Number, Part
from tuibench.workload.keys import Draw
from tuibench.workload.values import C_GROUPS, PAD_GROUPS

COLUMNS = ("id", "k", "c", "pad")


class Rows:
    """Writes rows in one form; `draw_k` gives their k. `number_width` is that of the largest number."""

    parameters = "iiss"

    def __init__(self, form: Form, number_width: int, draw_k: Draw, stream: Random) -> None:
        self._form = form
        self._layout = Layout(_parts(form, number_width), stream)
        self._draw_k = draw_k

    @property
    def row_bytes(self) -> int:
        return self._layout.row_bytes

    def sql(self, table: str, charset: str) -> str:
        return into(self._form, table, COLUMNS, charset)

    def block(self, first: int, count: int) -> bytes:
        draw = self._draw_k
        ks = [draw() for _ in range(count)]
        block = self._layout.rows(range(first, first + count), ks)
        if self._form is Form.SQL:
            del block[-1]
        return bytes(block)


def _parts(form: Form, width: int) -> list[Part]:
    c, pad = Groups(C_GROUPS), Groups(PAD_GROUPS)
    parts: dict[Form, list[Part]] = {
        Form.SQL: [
            *(Constant(b"("), Number(width), Constant(b","), Number(width)),
            *(Constant(b",'"), c, Constant(b"','"), pad, Constant(b"'),")),
        ],
        Form.TABBED: [
            *(Number(width), Constant(b"\t"), Number(width), Constant(b"\t")),
            *(c, Constant(b"\t"), pad, Constant(b"\n")),
        ],
        # Before each value a zero: it is given, and no default. Before each text its length.
        Form.BULK: [
            *(Constant(b"\0"), Int32(), Constant(b"\0"), Int32()),
            *(Constant(bytes((0, c.size))), c, Constant(bytes((0, pad.size))), pad),
        ],
    }
    return parts[form]
