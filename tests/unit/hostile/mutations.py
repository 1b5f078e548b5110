"""Broken input, made of good input: bytes cut, doubled and put in; values of JSON exchanged for odd ones."""

import copy
import json
from typing import Any

from hypothesis import strategies as st

ODD_BYTES = (
    b"", b"\0", b"\xff\xfe", b"\x1b]0;x\x07", b"\n", b"\r", b"[", b"]", b"{", b"}", b'"', b"'", b"\\",
    b"=", b"!", b"#", b"!include .", b"!includedir .",
    b"99999999999999999999", b"-1", b"1e999", b"nan", b"null", b"[[", b"\xed\xa0\x80",
    "\u202e".encode(), b"[" * 2000, b'{"a":' * 2000,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**40, -(10**40),
    0.0, -0.5, 1e308, -1e308, 1e-320, "", "x", "\0", "../..",
    "\x1b[2J", "9" * 400, [], {}, [[]], [None], {"": None}, [1] * 50,
)  # fmt: skip
"""JSON's own numbers know no NaN."""


@st.composite
def broken(draw: st.DrawFn, good: bytes) -> bytes:
    """The bytes after some changes."""
    data = good
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from((0, 0, 1, 2, 8, 60, 10_000))))
        put_in = draw(st.sampled_from(ODD_BYTES) | st.binary(max_size=6) | st.just(data[start:end] * 2))
        data = data[:start] + put_in + data[end:]
    return data


@st.composite
def with_odd_values(draw: st.DrawFn, good: bytes) -> bytes:
    """A JSON document with some values exchanged, left out or added."""
    document = json.loads(good)
    for _ in range(draw(st.integers(1, 3))):
        _exchange(draw, document)
    return json.dumps(document).encode()


def _exchange(draw: st.DrawFn, document: Any) -> None:
    """Goes down a random way, and changes what is there."""
    while True:
        places = list(document) if isinstance(document, dict) else list(range(len(document)))
        if not places:
            return
        place = draw(st.sampled_from(places))
        inner = document[place]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            document = inner
            continue
        if draw(st.integers(0, 5)) == 0:
            del document[place]
        else:
            document[place] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
        return


def odd_line_of(good: bytes) -> st.SearchStrategy[bytes]:
    """Lines of JSON, one of which is odd or broken."""
    lines = good.splitlines()
    places = st.integers(0, len(lines) - 1)

    def at(place: int) -> st.SearchStrategy[bytes]:
        odd = with_odd_values(lines[place]) | broken(lines[place])
        return odd.map(lambda line: b"\n".join((*lines[:place], line, *lines[place + 1 :])) + b"\n")

    return places.flatmap(at)
