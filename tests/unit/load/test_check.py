"""What becomes of a condition that a command of the server decides."""

from typing import Any, cast

import pytest

from tuibench.load.check import Outcome, verdict_of
from tuibench.load.conditions.base import Condition
from tuibench.mysql.connection import Connection

SERVER = Condition(name="server", says="fine", differing="", about="remark", command="CHECK TABLE t")


class Answering:
    """A connection that gives the same rows to every question."""

    def __init__(self, *texts: str) -> None:
        self._rows = [{"Table": "t", "Msg_type": "status", "Msg_text": text} for text in texts]
        self.asked: list[str] = []

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        self.asked.append(sql)
        return self._rows


@pytest.mark.parametrize(
    ("texts", "outcome", "words"),
    [
        (("OK",), Outcome.HOLDS, ""),
        (("OK", "OK"), Outcome.HOLDS, ""),
        (
            ("OK", "Corrupt"),
            Outcome.BROKEN,
            "1 remark: Table t, Msg_type status, Msg_text Corrupt",
        ),
    ],
)
async def test_a_commands_rows_end_in_what_it_found(
    texts: tuple[str, ...], outcome: Outcome, words: str
) -> None:
    connection = Answering(*texts)
    verdict = await verdict_of(cast(Connection, connection), SERVER)
    assert (verdict.outcome, verdict.words) == (outcome, words)
    assert connection.asked == ["CHECK TABLE t"]
