"""Views of a run as a test wants them, and what the panels made of them."""

import msgspec

from tests.tui.support import script
from tuibench.tui.text.spans import TextLine, plain_text
from tuibench.tui.view import View, initial_view, next_view


def text(lines: list[TextLine]) -> str:
    return "\n".join(plain_text(line).rstrip() for line in lines)


def role_of(lines: list[TextLine], part: str) -> str:
    return next(span.role for line in lines for span in line if part in span.text)


def short_story(*tps: float | None) -> View:
    """One sample a second with these rates."""
    base = script.samples(1)[0]
    view = initial_view(script.hello(0))
    for number, value in enumerate(tps, 1):
        load = None if value is None else script.load_part(value, 10.0, 4)
        view = next_view(view, msgspec.structs.replace(base, elapsed_seconds=float(number), load=load))
    return view


def with_server(**changes: object) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    assert view.server is not None
    part = msgspec.structs.replace(view.server, **changes)
    return next_view(view, msgspec.structs.replace(view.sample, server=part))


def with_host(**changes: object) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    host = msgspec.structs.replace(script.HOST, **changes)
    return next_view(view, msgspec.structs.replace(view.sample, host=host))


def with_load(**changes: object) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    load = msgspec.structs.replace(script.load_part(100.0, 10.0, 4), **changes)
    return next_view(view, msgspec.structs.replace(view.sample, load=load))


def without(*parts: str) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    return next_view(view, script.without(view.sample, *parts))
