"""`tuibench profiles`: lists profiles, shows one, or checks a profile file.

A profile in words: its options as they are typed, its transactions as indented steps.
"""

from collections.abc import Callable, Iterator
from os.path import isfile
from pathlib import Path
from typing import Annotated

import click
import msgspec

from tuibench import sanitize, suggestions
from tuibench.cli.output.formats import JSON, TEXT, TextOrJson, check_format, echo_json
from tuibench.cli.parsing.declarations import Argument
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import THREADS, compile_profile, known_options
from tuibench.workload.generate.generator import Generator
from tuibench.workload.language.options import FLAG_WORDS, ProfileOption, command_line_name
from tuibench.workload.language.profile_schema import (
    HeadlineText,
    LetSpec,
    Profile,
    StatementText,
    StepText,
    TransactionText,
)

INDENT = "  "


def profile_description(profile: Profile) -> str:
    """The whole of it, ending in a line's end."""
    options = {name: option for name, option in known_options(profile).items() if name != THREADS}
    width = max(len(_option_text(name, option)) for name, option in options.items())
    lines = [f"{profile.name}: {profile.summary}", f"data set: {profile.data_set}", "", "options:"]
    lines += [
        f"  {_option_text(name, option):{width}}  {_option_help(option)}" for name, option in options.items()
    ]
    lines += ["", f"transactions{', dealt from a deck' * (profile.draw == 'deck')}:"]
    for transaction in profile.transactions:
        lines += _transaction_lines(transaction, profile)
    return "\n".join(map(sanitize.text, lines)) + "\n"


def _option_text(name: str, option: ProfileOption) -> str:
    return f"{command_line_name(name)}={_value_text(option.default)}"


def _value_text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return next(word for word, meaning in FLAG_WORDS.items() if meaning is value)
    return str(value)


def _option_help(option: ProfileOption) -> str:
    limits = [
        f"{word} {limit:,.10g}"
        for word, limit in (("at least", option.minimum), ("at most", option.maximum))
        if limit is not None and limit != 2**31 - 1
    ]
    limits += [f"one of {', '.join(option.choices)}"] * bool(option.choices)
    return option.help + (f" ({', '.join(limits)})" if limits else "")


def _transaction_lines(transaction: TransactionText, profile: Profile) -> Iterator[str]:
    around = "each statement by itself" if transaction.autocommit is True else "between BEGIN and COMMIT"
    if isinstance(transaction.autocommit, str):
        around += f" unless {command_line_name(transaction.autocommit)}"
    share = f", weight {transaction.weight:g}" * (len(profile.transactions) > 1)
    yield f"  {transaction.name}: {around}{share}"
    for step in transaction.steps:
        yield from _step_lines(profile.steps[step] if isinstance(step, str) else step, INDENT * 2)


def _step_lines(step: StepText, indent: str) -> Iterator[str]:
    """Loops and conditions, with their body indented below."""
    words = []
    if step.when:
        words.append(f"when {step.when}")
    if step.each:
        words.append(f"for each {', '.join(step.into)} of {step.each}")
    elif step.repeat != 1:
        words.append(f"{step.repeat} times")
    if words:
        yield f"{indent}{', '.join(words)}:"
        indent += INDENT
    for name, let in step.let.items():
        yield f"{indent}{name} = {_expression_text(let)}"
    for statement in step.statements:
        yield f"{indent}{statement.name}: {_statement_text(statement)}"
    for inner in step.steps:
        yield from _step_lines(inner, indent)
    if step.rollback:
        chance = "" if step.rollback is True else f" in {step.rollback * 100:g} % of the cases"
        yield f"{indent}ROLLBACK{chance}"


def _expression_text(let: LetSpec) -> str:
    """An expression as text, a draw with its arguments."""
    if isinstance(let, str | bool | int | float):
        return str(let)
    taken = {name: getattr(let, name) for name in let.__struct_fields__}
    words = [
        f"{name}={_expression_text(value) if name == 'of' else value}"
        for name, value in taken.items()
        if value is not None
    ]
    return f"{let.__struct_config__.tag}({', '.join(words)})"


def _statement_text(statement: StatementText) -> str:
    sql = " ".join(statement.sql.split())
    for name, part in statement.parts.items():
        sql += f"   {{{name}}}: {part.repeat} times {part.sql}"
    if statement.capture or statement.rows:
        sql += f"   -> {', '.join((*statement.capture, *[statement.rows] * bool(statement.rows)))}"
    return sql if statement.prepared else f"{sql}   (sent as text)"


DETAILS = (
    "list: names, data sets, summaries. show NAME: options with defaults and limits, transactions, "
    "statements. check FILE: says ok, or what is wrong and where."
)


class ProfileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A profile in the list; one that cannot be read says why."""

    name: str
    data_set: str = ""
    summary: str = ""
    file: str
    error: str = ""


class ProfileDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with all that it extends; named steps are written where they are used."""

    name: str
    summary: str
    data_set: str
    draw: str
    options: dict[str, ProfileOption]
    lists: dict[str, tuple[int | float | str, ...]]
    headline: HeadlineText | None
    transactions: tuple[TransactionText, ...]


class ProfileCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A profile that is one; what is wrong with any other is an error."""

    name: str
    ok: bool = True


def profiles(
    action: Annotated[str, Argument(metavar="list|show|check", help="What to do.")] = "list",
    name: Annotated[str, Argument(help="A profile's name, or file.", show_default=False)] = "",
    output: TextOrJson = TEXT,
) -> None:
    if action not in ACTIONS:
        raise UsageError(f"profiles cannot '{action}'", suggestions.did_you_mean(action, ACTIONS))
    check_format(output)
    if bool(name) != (action != "list"):
        raise UsageError(f"profiles {action} takes {'no name' if name else 'a name or a file'}")
    ACTIONS[action](name, output == JSON)


def _list(_: str, as_json: bool) -> None:
    lines = [_line(name, path) for name, path in sorted(library.available_profiles().items())]
    if as_json:
        echo_json(lines)
        return
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        words = f"{line.name:{width}}  {line.data_set:8}  {line.summary or f'broken: {line.error}'}"
        click.echo(sanitize.text(words))


def _line(name: str, path: Path) -> ProfileLine:
    """A user's broken file must not hide the others."""
    try:
        profile = library.load_profile(name)
    except UsageError as error:
        return ProfileLine(name=name, file=str(path), error=str(error))
    return ProfileLine(name=name, file=str(path), data_set=profile.data_set, summary=profile.summary)


def _show(name: str, as_json: bool) -> None:
    profile = library.load_profile(_resolve_file(name))
    if not as_json:
        click.echo(profile_description(profile), nl=False)
        return
    steps = profile.steps
    echo_json(
        ProfileDetails(
            name=profile.name,
            summary=profile.summary,
            data_set=profile.data_set,
            draw=profile.draw or "weight",
            options=known_options(profile),
            lists=profile.lists,
            headline=profile.headline,
            transactions=tuple(
                msgspec.structs.replace(
                    transaction,
                    steps=tuple(steps[step] if isinstance(step, str) else step for step in transaction.steps),
                )
                for transaction in profile.transactions
            ),
        )
    )


def _check(name: str, as_json: bool) -> None:
    profile = library.load_profile(_resolve_file(name))
    _try_compile(profile)
    if as_json:
        echo_json(ProfileCheck(name=profile.name))
    else:
        click.echo(f"{name}: ok")


def _try_compile(profile: Profile) -> None:
    """Raises UsageError for what shows only with the options' values, and when a connection starts."""
    Generator(compile_profile(profile, {}), 0, 0)


def _resolve_file(name: str) -> str:
    """A file in this folder may be given without its folder, whatever its suffix."""
    return str(Path(name).absolute()) if isfile(name) else name


ACTIONS: dict[str, Callable[[str, bool], None]] = {"list": _list, "show": _show, "check": _check}
