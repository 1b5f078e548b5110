"""Random values of TPC-C's rows (4.3.2), column by column, and last names (4.3.2.3)."""

from collections.abc import Callable, Sequence
from random import Random

from tuibench.workload.datasets.random_text import ALPHANUMERICS, DIGITS, LETTERS, RandomCharacters
from tuibench.workload.datasets.row_encoding import ColumnValues
from tuibench.workload.datasets.tpcc.sizes import TpccSizes
from tuibench.workload.generate.random_values import nurand_draw
from tuibench.workload.program.values import Nurand

SYLLABLES = (b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING")
LAST_NAMES = 1000
LAST_NAME_A = 255


def last_name(number: int) -> bytes:
    """The last name of a number from 0 to 999."""
    return SYLLABLES[number // 100] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


def last_name_number_draw(customers: int, loaded_c: int, stream: Random) -> Callable[[], int]:
    """Generate the name numbers of customers after the first thousand; small districts have fewer names."""
    value = Nurand(LAST_NAME_A, 0, min(customers, LAST_NAMES) - 1, loaded_c)
    return nurand_draw(value, loaded_c, stream)


ORIGINAL = b"ORIGINAL"
ORIGINAL_SHARE = BAD_CREDIT_SHARE = 0.1


class TpccValues:
    """Generates columns from one stream."""

    def __init__(self, sizes: TpccSizes, loaded_c: int, loaded_at: bytes, stream: Random) -> None:
        self.sizes = sizes
        self.now = loaded_at
        self.chance = stream.random
        self._stream = stream
        self._letters = RandomCharacters.of(ALPHANUMERICS, stream)
        self._capitals = RandomCharacters.of(LETTERS, stream)
        self._digits = RandomCharacters.of(DIGITS, stream)
        self.name_number = last_name_number_draw(sizes.customers, loaded_c, stream)

    def whole(self, count: int, low: int, high: int) -> list[int]:
        """Integers from low to high."""
        chance, span = self.chance, high - low + 1
        return [low + int(chance() * span) for _ in range(count)]

    def exact(self, count: int, low: int, high: int, places: int) -> list[bytes]:
        """Exact numbers, low to high in units of the last digit."""
        unit, written = 10**places, b"%%d.%%0%dd" % places
        return [written % divmod(number, unit) for number in self.whole(count, low, high)]

    def text(self, count: int, low: int, high: int) -> list[bytes]:
        """Texts of low to high letters and digits."""
        return self._letters.texts(self.whole(count, low, high))

    def text_of(self, count: int, length: int) -> list[bytes]:
        """Texts of one length."""
        return self._letters.equal(count, length)

    def digits(self, count: int, length: int) -> list[bytes]:
        return self._digits.equal(count, length)

    def address(self, count: int) -> list[ColumnValues]:
        """Two streets, city, state, and a zip code that ends in 11111."""
        streets: list[ColumnValues] = [self.text(count, 10, 20) for _ in range(3)]
        zips = [digits + b"11111" for digits in self.digits(count, 4)]
        return [*streets, self._capitals.equal(count, 2), zips]

    def data(self, count: int) -> list[bytes]:
        """26 to 50 characters; one in ten contains ORIGINAL."""
        return [self._original(text) for text in self.text(count, 26, 50)]

    def _original(self, text: bytes) -> bytes:
        if self.chance() >= ORIGINAL_SHARE:
            return text
        place = int(self.chance() * (len(text) - len(ORIGINAL) + 1))
        return text[:place] + ORIGINAL + text[place + len(ORIGINAL) :]

    def credits(self, count: int) -> list[bytes]:
        return [b"BC" if self.chance() < BAD_CREDIT_SHARE else b"GC" for _ in range(count)]

    def last_names(self, numbers: Sequence[int]) -> list[bytes]:
        """Each name once, then random ones."""
        return [last_name(number - 1 if number <= LAST_NAMES else self.name_number()) for number in numbers]
