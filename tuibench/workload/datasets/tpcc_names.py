"""TPC-C's last names (4.3.2.3), and what the loader draws them by."""

from collections.abc import Callable
from random import Random

from tuibench.workload.nurand import nurand
from tuibench.workload.value import Nurand

SYLLABLES = (b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING")
NAMES = 1000
SPREAD = 255


def last_name(number: int) -> bytes:
    """The name of a number from 0 to 999."""
    return SYLLABLES[number // 100] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


def drawn_number(customers: int, loaded_c: int, stream: Random) -> Callable[[], int]:
    """Draws the name numbers of the customers after the first thousand; small districts have fewer names."""
    value = Nurand(SPREAD, 0, min(customers, NAMES) - 1, loaded_c)
    return nurand(value, loaded_c, stream)
