"""MariaDB's ed25519 login: the four operations on the curve that the driver otherwise takes from PyNaCl.

Plain Python integers, about a millisecond a login; the formulas are those of RFC 8032, section 5.1.4.
It is not hardened against a neighbour who measures time, which a load generator need not be.
"""

from functools import cache

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
TWICE_D = 2 * -121665 * pow(121666, -1, FIELD) % FIELD

Point = tuple[int, int, int, int]
"""Extended coordinates: x = X/Z, y = Y/Z, x·y = T/Z."""

NEUTRAL: Point = (0, 1, 1, 0)
BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
BASE_Y = 4 * pow(5, -1, FIELD) % FIELD
BASE: Point = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % FIELD)


def crypto_core_ed25519_scalar_reduce(number: bytes) -> bytes:
    """64 bytes modulo the order of the base point."""
    return _scalar(_integer(number))


def crypto_core_ed25519_scalar_mul(left: bytes, right: bytes) -> bytes:
    return _scalar(_integer(left) * _integer(right))


def crypto_core_ed25519_scalar_add(left: bytes, right: bytes) -> bytes:
    return _scalar(_integer(left) + _integer(right))


def crypto_scalarmult_ed25519_base_noclamp(scalar: bytes) -> bytes:
    """The base point, `scalar` times, encoded."""
    number, point = _integer(scalar), NEUTRAL
    for bit, doubled in enumerate(_doublings()):
        if number >> bit & 1:
            point = _sum(point, doubled)
    inverse = pow(point[2], -1, FIELD)
    x, y = point[0] * inverse % FIELD, point[1] * inverse % FIELD
    return (y | (x & 1) << 255).to_bytes(32, "little")


@cache
def _doublings() -> tuple[Point, ...]:
    """The base point times 1, 2, 4, …"""
    points = [BASE]
    for _ in range(255):
        points.append(_sum(points[-1], points[-1]))
    return tuple(points)


def _sum(left: Point, right: Point) -> Point:
    a = (left[1] - left[0]) * (right[1] - right[0]) % FIELD
    b = (left[1] + left[0]) * (right[1] + right[0]) % FIELD
    c = left[3] * TWICE_D * right[3] % FIELD
    d = 2 * left[2] * right[2] % FIELD
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD, g * h % FIELD, f * g % FIELD, e * h % FIELD


def _integer(number: bytes) -> int:
    return int.from_bytes(number, "little")


def _scalar(number: int) -> bytes:
    return (number % ORDER).to_bytes(32, "little")
