"""How the values of placeholders are taken from a row of variables: made once, called for each use."""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from tuibench.workload.draw import Source, summed
from tuibench.workload.evaluate import Evaluate, Row
from tuibench.workload.expression import Variable
from tuibench.workload.program import Bind, Part, Statement
from tuibench.workload.value import Formula, Many, Sum, Value

Values = tuple[Any, ...]
BindRow = Callable[[Row], Values]


def binder(statement: Statement, places: Mapping[str, int], source: Source) -> BindRow:
    """The function that gives a statement's values."""
    if statement.part is None:
        return _plain(statement.bind, places, source)
    return _around(statement.bind, statement.part, places, source)


def setter(value: Value, places: Mapping[str, int], source: Source) -> Evaluate:
    """The function that gives a variable its value, whether it is drawn or computed."""
    match value:
        case Sum():
            return summed(value, places)
        case Formula(expression=expression):
            return source.function(expression, places)
        case Many(of=of, count=count, ordered=ordered):
            draw, times = source.draw(of), source.function(count, places)
            return _many(draw, times, ordered)
        case _:
            draw = source.draw(value)
            return lambda row: draw()


def _many(draw: Callable[[], Any], times: Evaluate, ordered: bool) -> Evaluate:
    def many(row: Row) -> list[Any]:
        drawn = [draw() for _ in range(int(times(row)))]
        return sorted(drawn) if ordered else drawn

    return many


def _plain(bind: Bind, places: Mapping[str, int], source: Source) -> BindRow:
    bound = [places[name] for name in bind if isinstance(name, str) and name in places]
    if len(bound) < len(bind):
        return _computed(bind, places, source)
    if not bound:
        return lambda row: ()
    if len(bound) == 1:
        place = bound[0]
        return lambda row: (row[place],)
    return itemgetter(*bound)


def _computed(bind: Bind, places: Mapping[str, int], source: Source) -> BindRow:
    expressions = [Variable(one) if isinstance(one, str) else one for one in bind]
    functions = [source.function(expression, places) for expression in expressions]
    return lambda row: tuple([function(row) for function in functions])


def _around(bind: Bind, part: Part, places: Mapping[str, int], source: Source) -> BindRow:
    """The values before the part, those of each of its repetitions, and those after it."""
    before = _plain(bind[: part.before], places, source)
    after = _plain(bind[part.before :], places, source)
    repetition = _repetition(part, places, source)
    repetitions = range(part.repeat)

    def values(row: Row) -> Values:
        inner: list[Any] = []
        for _ in repetitions:
            inner += repetition(row)
        return (*before(row), *inner, *after(row))

    return values


def _repetition(part: Part, places: Mapping[str, int], source: Source) -> BindRow:
    """One repetition: the part's own variables are set behind those of the row."""
    first = max(places.values(), default=-1) + 1
    extended = {**places, **{name: first + number for number, name in enumerate(part.let)}}
    setters = [setter(value, extended, source) for value in part.let.values()]
    bind = _plain(part.bind, extended, source)

    def values(row: Row) -> Values:
        full = row.copy()
        for one in setters:
            full.append(one(full))
        return bind(full)

    return values
