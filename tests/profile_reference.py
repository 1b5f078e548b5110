"""Write the reference of the profile language: `python -m tests.profile_reference`.

It is generated from the types that decode a profile; a test checks that profiles/README.md is up to
date.
"""

from inspect import cleandoc
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tests.paths import ROOT
from tests.schemas import field_texts
from tuibench.model.plan import OptionValue
from tuibench.workload import language
from tuibench.workload.options import ProfileOption
from tuibench.workload.values import Draw, N, Operand

PAGE = ROOT / "profiles" / "README.md"

HEAD = """\
# Look up a key of a profile

Every key, generated from the types that decode a profile; [profiles.md](../docs/profiles.md) explains them
with examples, and `tuibench profiles check FILE` checks a file. An *operand* is an integer
or an expression of options, lists and variables.
"""

BY_HAND = "## Expressions"
"""From this heading on the page is written by hand, and kept."""

TABLES: dict[type[msgspec.Struct], str] = {
    language.Profile: "The file",
    ProfileOption: "Option",
    language.HeadlineText: "Headline",
    language.TransactionText: "Transaction",
    language.StepText: "Step",
    language.StatementText: "Statement",
    language.PartText: "Part",
}

NAMES: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "boolean",
    type(None): "",
    Operand: "operand",
    Draw: "[generator](#generators)",
    N: "operand",
    language.LetSpec: "[generator](#generators) or expression",
    OptionValue: "value",
}


def reference() -> str:
    """The page."""
    parts = [HEAD, *(_section(table, title, "##") for table, title in TABLES.items())]
    parts += [_generators(), BY_HAND + PAGE.read_text(encoding="utf-8").partition(BY_HAND)[2]]
    return "\n".join(parts)


def _section(table: type[msgspec.Struct], title: str, level: str) -> str:
    hints, meanings = get_type_hints(table), _meanings(table)
    lines = [f"{level} {title}", "", "| key | value | meaning |", "|---|---|---|"]
    for field in msgspec.structs.fields(table):
        value = ", ".join(filter(None, (_type(hints[field.name]), _default(field))))
        lines.append(f"| `{field.name}` | {value} | {meanings.get(field.name, '')} |")
    return "\n".join([*lines, ""])


def _generators() -> str:
    """A row for each kind of value, with its parameters and their defaults."""
    lines = [
        "## Generators",
        "",
        "A variable of `let` is drawn by the generator named in `make`, or computed from an expression.",
        "Parameters without a default are required, and are operands unless they are named otherwise.",
        "",
        "| `make` | value | parameters |",
        "|---|---|---|",
    ]
    for tag, kind in language.KINDS.items():
        hints, meanings = get_type_hints(kind), _meanings(kind)
        parameters = []
        for field in msgspec.structs.fields(kind):
            type_ = _type(hints[field.name])
            default = _default(field).replace("required", "")
            said = [default, "" if type_ == "operand" else type_, meanings.get(field.name, "").rstrip(".")]
            words = ": ".join(filter(None, (", ".join(filter(None, said[:2])), said[2])))
            parameters.append(f"`{field.name}`" + (f" ({words})" if words else ""))
        meaning = " ".join(cleandoc(kind.__doc__ or "").split())
        lines.append(f"| `{tag}` | {meaning} | {', '.join(parameters)} |")
    return "\n".join([*lines, ""])


def _meanings(table: type[msgspec.Struct]) -> dict[str, str]:
    """The texts below the fields of a table, in one line each."""
    return {
        field: " ".join(words.split())
        for base in reversed(table.__mro__)
        for (name, field), words in field_texts(base.__module__).items()
        if name == base.__name__
    }


def _type(hint: Any) -> str:
    for known, name in NAMES.items():
        if hint == known:
            return name
    if hint in TABLES:
        title = TABLES[hint]
        return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"table of {_type(arguments[1])}"
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments if choice)
    if origin in (Union, UnionType):
        return " or ".join(filter(None, map(_type, arguments)))
    raise TypeError(f"profiles/README.md has no words for {hint}")


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT or field.default in ("", (), None):
        return ""
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
