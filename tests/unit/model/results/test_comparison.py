"""What differs is named by its path, with both values."""

import msgspec

from tests.sweeps import PLAN
from tuibench.model.results.comparison import struct_differences
from tuibench.model.results.sweep import SweepVariant


def test_the_same_differs_in_nothing() -> None:
    assert struct_differences(PLAN, msgspec.structs.replace(PLAN)) == ()


def test_each_difference_is_named_by_its_path() -> None:
    other = msgspec.structs.replace(
        PLAN, repeats=3, threads=(4, 16), base=msgspec.structs.replace(PLAN.base, seconds=None, seed=9)
    )
    assert struct_differences(PLAN, other, besides=("base.seed",)) == (
        "threads[2]: 8 there, 16 here",
        "repeats: 2 there, 3 here",
        "base.seconds: 5.0 there, nothing here",
    )


def test_lists_of_another_length_differ_as_a_whole() -> None:
    other = msgspec.structs.replace(PLAN, threads=(4,))
    assert struct_differences(PLAN, other) == ("threads: 4, 8 there, 4 here",)


def test_named_items_are_shown_by_name() -> None:
    some = msgspec.structs.replace(
        PLAN, variants=(SweepVariant(name="durable 1/1"), SweepVariant(name="unsafe 0/0"))
    )
    none = msgspec.structs.replace(PLAN, variants=(SweepVariant(name=""),))
    assert struct_differences(some, none) == ("variants: durable 1/1, unsafe 0/0 there, unchanged here",)
