"""Description of a profile as text: options as typed on the command line, transactions as indented steps."""

from collections.abc import Iterator

from tuibench import sanitize
from tuibench.model.plan import OptionValue
from tuibench.workload.compile.profile_compiler import THREADS, known_options
from tuibench.workload.language.options import FLAG_WORDS, ProfileOption, command_line_name
from tuibench.workload.language.profile_schema import (
    LetSpec,
    Profile,
    StatementText,
    StepText,
    TransactionText,
)

INDENT = "  "


def profile_description(profile: Profile) -> str:
    """The whole description, with a final newline."""
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
    """Lines of a step; bodies of loops and conditions are indented below."""
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
    """An expression as text, a random draw with its arguments."""
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
