"""Views of a run as a test wants them, and what the panels made of them."""

import msgspec

from tests.tui import script
from tuibench.tui.spans import Line, plain
from tuibench.tui.view import View, after, begin


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)


def role_of(lines: list[Line], part: str) -> str:
    return next(span.role for line in lines for span in line if part in span.text)


def short_story(*tps: float | None) -> View:
    """One sample a second with these rates."""
    base = script.samples(1)[0]
    view = begin(script.hello(0))
    for number, value in enumerate(tps, 1):
        load = None if value is None else script.load_part(value, 10.0, 4)
        view = after(view, msgspec.structs.replace(base, elapsed_seconds=float(number), load=load))
    return view


def with_server(**changes: object) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    assert view.server is not None
    part = msgspec.structs.replace(view.server, **changes)
    return after(view, msgspec.structs.replace(view.sample, server=part))


def with_host(**changes: object) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    host = msgspec.structs.replace(script.HOST, **changes)
    return after(view, msgspec.structs.replace(view.sample, host=host))


def without(*parts: str) -> View:
    view = begin(script.hello(10))
    assert view.sample is not None
    return after(view, script.without(view.sample, *parts))
