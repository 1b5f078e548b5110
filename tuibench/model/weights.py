"""Weights of transactions as they are written on a line: 50/50, or by name: new_order=50 payment=50."""

from collections.abc import Sequence

from tuibench.errors import UsageError


def weights_in(text: str, names: Sequence[str]) -> dict[str, float]:
    """The weight of each transaction named; without names there is one for each, in their order.

    Raises UsageError for what is no number, a name that is unknown, and weights that are too few or too many.
    """
    example = f"such as {'/'.join('1' for _ in names)}, or {names[0]}=50"
    parts = text.replace("/", " ").replace(",", " ").split()
    if not any("=" in part for part in parts):
        if len(parts) != len(names):
            raise UsageError(f"{len(names)} weights are wanted, for {', '.join(names)}", example)
        parts = [f"{name}={part}" for name, part in zip(names, parts, strict=True)]
    return dict(_one(part, names, example) for part in parts)


def weights_text(weights: dict[str, float]) -> str:
    """The weights alone, in their order: 90/10."""
    return "/".join(f"{weight:g}" for weight in weights.values())


def _one(part: str, names: Sequence[str], example: str) -> tuple[str, float]:
    name, _, number = part.partition("=")
    if name not in names:
        raise UsageError(f"there is no transaction '{name}'", f"there are {', '.join(names)}")
    if not number.replace(".", "", 1).isdecimal():
        raise UsageError(f"'{number}' is not a weight", example)
    return name, float(number)
