"""Values that are not keys: sysbench's strings of random digits, one at a time."""

from collections.abc import Callable
from random import Random

GROUP_DIGITS = 11
C_GROUPS = 10
PAD_GROUPS = 5
SPARE_BITS = 24
"""Bits drawn beyond those a string needs, so that the bias of its first digit is below 1 in 10⁷."""


def digit_groups(groups: int, stream: Random) -> Callable[[], str]:
    """Draws `groups` groups of eleven digits joined by `-`: 119 characters for c, 59 for pad.

    One random number is written in decimal, its last digits kept (the first are not equally likely) and every
    twelfth overwritten. That takes about 1.5 µs for c; drawing digit by digit takes ten times as long.
    """
    length = groups * (GROUP_DIGITS + 1) - 1
    bits = int(length * 3.3219281) + 1 + SPARE_BITS
    template = b"%%0%dd" % length
    dashes = b"-" * (groups - 1)
    getrandbits = stream.getrandbits

    def draw() -> str:
        text = bytearray(template % getrandbits(bits))
        del text[:-length]
        text[GROUP_DIGITS :: GROUP_DIGITS + 1] = dashes
        return text.decode("ascii")

    return draw
