"""A test over a table reports every row that fails, and fails without rows."""

import asyncio

import pytest

from tests.tables import for_each

ROWS = [(1, "a"), (2, "b"), (3, "c")]


def test_every_row_that_fails_is_reported() -> None:
    @for_each(("number", "letter"), ROWS)
    def odd(number: int, letter: str, fixture: str) -> None:
        assert letter + fixture != "b."
        with pytest.raises(ValueError, match="3"):
            raise ValueError(str(number + 2))

    @for_each(("number", "letter"), ROWS)
    async def later(number: int, letter: str) -> None:
        assert (number, letter) == ROWS[0]

    with pytest.raises(pytest.fail.Exception) as failed:
        odd(fixture=".")
    message = str(failed.value)
    assert message.startswith("2 of 3 rows:\nnumber=2, letter='b': AssertionError: ")
    assert "\nnumber=3, letter='c': AssertionError: " in message
    with pytest.raises(pytest.fail.Exception, match="2 of 3 rows"):
        asyncio.run(later())


def test_a_table_without_rows_fails() -> None:
    @for_each("number", [])
    def nothing(number: int) -> None:
        raise NotImplementedError(number)

    with pytest.raises(AssertionError, match="the table is empty"):
        nothing()
