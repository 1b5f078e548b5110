"""Views of a run as a test wants them, and what the panels made of them."""

from typing import Any

from tests.ticks import changed
from tests.tui.support import script
from tuibench.model.cluster import LoadHost
from tuibench.tui.text import TextLine, plain_text
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
        view = next_view(view, changed(base, elapsed_seconds=float(number), load=load))
    return view


def with_server(**changes: Any) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    assert view.server is not None
    part = script.server_part(10, 1_100.0, 16, 1.04, **changes)
    return next_view(view, changed(view.sample, server=part))


def with_host(**changes: Any) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    return next_view(view, changed(view.sample, host=script.host_part(**changes)))


def with_load(hosts: tuple[LoadHost, ...] = (), **changes: Any) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    load = script.load_part(100.0, 10.0, 4, **changes)
    return next_view(view, changed(view.sample, load=load, hosts=hosts))


def without(*parts: str) -> View:
    view = initial_view(script.hello(10))
    assert view.sample is not None
    return next_view(view, script.without(view.sample, *parts))
