"""How the values of TPC-C's rows are drawn (4.3.2): a column of each kind at a time."""

from collections.abc import Sequence
from random import Random

from tuibench.workload.datasets.characters import ALPHANUMERICS, DIGITS, LETTERS, Characters
from tuibench.workload.datasets.columns import Column
from tuibench.workload.datasets.tpcc_names import NAMES, drawn_number, last_name
from tuibench.workload.datasets.tpcc_sizes import Sizes

ORIGINAL = b"ORIGINAL"
ORIGINAL_SHARE = BAD_CREDIT_SHARE = 0.1


class Values:
    """Draws the columns of rows from one stream."""

    def __init__(self, sizes: Sizes, loaded_c: int, loaded_at: bytes, stream: Random) -> None:
        self.sizes = sizes
        self.now = loaded_at
        self.chance = stream.random
        self._stream = stream
        self._letters = Characters.of(ALPHANUMERICS, stream)
        self._capitals = Characters.of(LETTERS, stream)
        self._digits = Characters.of(DIGITS, stream)
        self.name_number = drawn_number(sizes.customers, loaded_c, stream)

    def whole(self, count: int, low: int, high: int) -> list[int]:
        """Whole numbers from low to high."""
        chance, span = self.chance, high - low + 1
        return [low + int(chance() * span) for _ in range(count)]

    def exact(self, count: int, low: int, high: int, places: int) -> list[bytes]:
        """Exact numbers: low to high of the last digit's unit."""
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

    def address(self, count: int) -> list[Column]:
        """Two streets, city, state, and a zip code that ends in 11111."""
        streets: list[Column] = [self.text(count, 10, 20) for _ in range(3)]
        zips = [digits + b"11111" for digits in self.digits(count, 4)]
        return [*streets, self._capitals.equal(count, 2), zips]

    def data(self, count: int) -> list[bytes]:
        """26 to 50 characters; one in ten has ORIGINAL somewhere in it."""
        return [self._original(text) for text in self.text(count, 26, 50)]

    def _original(self, text: bytes) -> bytes:
        if self.chance() >= ORIGINAL_SHARE:
            return text
        place = int(self.chance() * (len(text) - len(ORIGINAL) + 1))
        return text[:place] + ORIGINAL + text[place + len(ORIGINAL) :]

    def credits(self, count: int) -> list[bytes]:
        return [b"BC" if self.chance() < BAD_CREDIT_SHARE else b"GC" for _ in range(count)]

    def last_names(self, numbers: Sequence[int]) -> list[bytes]:
        """Each name once, then as they are drawn."""
        return [last_name(number - 1 if number <= NAMES else self.name_number()) for number in numbers]
