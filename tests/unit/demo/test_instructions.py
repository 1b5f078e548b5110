"""The words between owner and keeper."""

import pytest

from tests.unit.demo.conftest import make_spec
from tuibench.demo import instructions
from tuibench.demo.instructions import (
    Answer,
    Create,
    End,
    Failed,
    Halt,
    Halted,
    Instruction,
    Kill,
    Running,
    Start,
)


@pytest.mark.parametrize("said", [Create(make_spec()), Start(), Halt(), Kill(), End(remove=True)])
def test_instructions_arrive_as_they_were(said: Instruction) -> None:
    line = instructions.line(said)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert instructions.instruction(line) == said


@pytest.mark.parametrize("said", [Running(1, 2, "/d"), Halted(), Failed("two\nlines", "hint")])
def test_answers_arrive_as_they_were(said: Answer) -> None:
    assert instructions.line(said).count(b"\n") == 1
    assert instructions.answer(instructions.line(said)) == said


def test_no_password_in_a_repr() -> None:
    assert make_spec().password not in repr(Create(make_spec()))
