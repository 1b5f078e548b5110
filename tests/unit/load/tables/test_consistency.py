"""What becomes of a condition that a command of the server decides."""

from typing import Any, cast

import pytest

from tuibench.load.tables.conditions import Condition
from tuibench.load.tables.consistency import ConditionOutcome, check_condition
from tuibench.mysql.connection import Connection

SERVER = Condition(name="server", description="fine", differing="", about="remark", command="CHECK TABLE t")


class Answering:
    """A connection that gives the same rows to every question."""

    def __init__(self, *texts: str) -> None:
        self._rows = [{"Table": "t", "Msg_type": "status", "Msg_text": text} for text in texts]
        self.asked: list[str] = []

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        self.asked.append(sql)
        return self._rows


@pytest.mark.parametrize(
    ("texts", "outcome", "message"),
    [
        (("OK",), ConditionOutcome.HOLDS, ""),
        (("OK", "OK"), ConditionOutcome.HOLDS, ""),
        (
            ("OK", "Corrupt"),
            ConditionOutcome.BROKEN,
            "1 remark: Table t, Msg_type status, Msg_text Corrupt",
        ),
    ],
)
async def test_a_commands_rows_end_in_what_it_found(
    texts: tuple[str, ...], outcome: ConditionOutcome, message: str
) -> None:
    connection = Answering(*texts)
    verdict = await check_condition(cast(Connection, connection), SERVER)
    assert (verdict.outcome, verdict.message) == (outcome, message)
    assert connection.asked == ["CHECK TABLE t"]
