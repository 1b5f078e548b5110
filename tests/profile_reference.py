"""Write the reference of the profile language: `python -m tests.profile_reference`.

It is generated from the types that decode a profile; a test checks that docs/profile-reference.md is up to
date.
"""

from inspect import cleandoc
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tests.paths import DOCS
from tests.schemas import field_texts
from tuibench.model.plan import OptionValue
from tuibench.workload import language
from tuibench.workload.options import ProfileOption
from tuibench.workload.values import Draw, N, Operand

PAGE = DOCS / "profile-reference.md"

HEAD = """\
# Profile language: reference

Every key of a profile, generated from the types that decode it. [profiles.md](profiles.md) explains the
language with examples. An unknown key or a wrong type is an error that names the file, the key and the
nearest valid name; `tuibench profiles check FILE` checks a file.

An *operand* is an integer or an expression of options, lists and variables.
"""

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
    bool: "true or false",
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
    parts.append(
        "## Generators\n\n"
        "A variable of `let` is drawn by the generator named in `make`, or computed from an expression.\n"
    )
    parts += [
        _section(kind, f"make = {tag!r}".replace("'", '"'), "###") for tag, kind in language.KINDS.items()
    ]
    return "\n".join(parts)


def _section(table: type[msgspec.Struct], title: str, level: str) -> str:
    lines = [f"{level} {title}", "", " ".join(cleandoc(table.__doc__ or "").split()), ""]
    fields = msgspec.structs.fields(table)
    if fields:
        hints, meanings = get_type_hints(table), _meanings(table)
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        cells = (
            (f"`{field.name}`", _type(hints[field.name]), _default(field), meanings.get(field.name, ""))
            for field in fields
        )
        lines += [f"| {' | '.join(row)} |" for row in cells]
        lines.append("")
    return "\n".join(lines)


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
    raise TypeError(f"docs/profile-reference.md has no words for {hint}")


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT or field.default in ("", (), None):
        return ""
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
