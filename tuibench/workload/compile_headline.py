"""From the headline of a profile to that of a program: its ideal as a number, and whether it is a measure."""

from tuibench.errors import UsageError
from tuibench.model.headline import Headline
from tuibench.workload.compile_values import ValueCompiler
from tuibench.workload.evaluate import fixed
from tuibench.workload.profile import HeadlineText


def compiled(text: HeadlineText | None, values: ValueCompiler) -> Headline | None:
    """The headline with a run's options, None without one."""
    if text is None:
        return None
    is_doubtful = bool(text.needs) and not values.flag(text.needs)
    return Headline(
        title=text.title,
        transaction=text.transaction,
        per_seconds=text.per_seconds,
        note=text.note,
        ideal=_ideal(text.ideal, values) if text.ideal else None,
        doubt=text.doubt if is_doubtful else "",
    )


def _ideal(text: str, values: ValueCompiler) -> float:
    ideal = float(fixed(values.expression(text)))
    if ideal <= 0:
        raise UsageError(f"the ideal of a headline, {text}, is {ideal:g}", "it must be above 0")
    return ideal
