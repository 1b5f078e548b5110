"""Whether a profile means something: names are defined, placeholders match, limits hold.

Everything the structure alone cannot tell. The first fault is raised as a UsageError with its key path.
"""

import re
from collections.abc import Iterator, Mapping

from tuibench.errors import UsageError
from tuibench.workload import nearest, options
from tuibench.workload.options import Option
from tuibench.workload.profile import (
    DigitsValue,
    KeyValue,
    Make,
    Profile,
    StatementText,
    StepText,
    SumValue,
    TransactionText,
    UniformValue,
)

_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`")
_FIELD = re.compile(r"{([^{}]*)}")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
MAX_GROUPS = 1000
MAX_REPEAT = 100_000


class Checker:
    """Checks one profile against the options it may use; `source` names the file in errors."""

    def __init__(self, profile: Profile, known: Mapping[str, Option], source: str) -> None:
        self._profile = profile
        self._known = known
        self._source = source
        self._sql: dict[str, str] = {}

    def check(self) -> None:
        """Raises UsageError for the first fault."""
        self._check_options()
        if not self._profile.transactions:
            self._fail("transactions", "a profile needs at least one")
        for number, transaction in enumerate(self._profile.transactions):
            self._check_transaction(f"transactions[{number}]", transaction)

    def _fail(self, path: str, message: str, hint: str = "") -> None:
        raise UsageError(f"{self._source}: {path}: {message}", hint)

    def _unknown(self, path: str, what: str, name: str, valid: Iterator[str]) -> None:
        self._fail(path, f"unknown {what} '{name}'", nearest.hint(name, valid))

    def _check_options(self) -> None:
        for name, option in self._profile.options.items():
            path = f"options.{name}"
            if not _IDENTIFIER.fullmatch(name):
                self._fail(path, "an option's name is lower-case letters, digits and _")
            if (option.type == "choice") != bool(option.choices):
                self._fail(path, 'choices belong to the type "choice", and it needs them')
            self._check_default(path, name, option.default)
        for name, value in self._profile.defaults.items():
            if name not in self._known:
                self._unknown(f"defaults.{name}", "option", name, iter(self._known))
            self._check_default(f"defaults.{name}", name, value)

    def _check_default(self, path: str, name: str, value: object) -> None:
        option = self._known[name]
        wanted = {"integer": int, "number": int | float, "flag": bool, "text": str, "choice": str}[
            option.type
        ]
        if not isinstance(value, wanted) or (isinstance(value, bool) and option.type != "flag"):
            self._fail(path, f"'{value}' is not of the type {option.type}")
        try:
            options.read(name, option, value)
        except UsageError as error:
            self._fail(path, error.message, error.hint)

    def _check_transaction(self, path: str, transaction: TransactionText) -> None:
        if not 0 < transaction.weight < float("inf"):
            self._fail(f"{path}.weight", "a weight is above 0")
        if [other.name for other in self._profile.transactions].count(transaction.name) > 1:
            self._fail(f"{path}.name", f"two transactions are called '{transaction.name}'")
        if not transaction.steps:
            self._fail(f"{path}.steps", "a transaction needs at least one")
        if isinstance(transaction.autocommit, str):
            self._check_option(f"{path}.autocommit", transaction.autocommit, "flag")
        for number, step in enumerate(transaction.steps):
            self._check_step(f"{path}.steps[{number}]", step)

    def _check_step(self, path: str, step: StepText) -> None:
        if isinstance(step.repeat, str):
            self._check_option(f"{path}.repeat", step.repeat, "integer")
        elif step.repeat < 0:
            self._fail(f"{path}.repeat", "a repeat count is not below 0")
        elif step.repeat > MAX_REPEAT:
            self._fail(f"{path}.repeat", f"at most {MAX_REPEAT:,} times")
        if step.when:
            self._check_option(f"{path}.when", step.when, "flag")
        if not step.statements:
            self._fail(f"{path}.statements", "a step needs at least one")
        for place, (name, make) in enumerate(step.let.items()):
            self._check_make(f"{path}.let.{name}", make, list(step.let)[:place])
        for number, statement in enumerate(step.statements):
            self._check_statement(f"{path}.statements[{number}]", statement, step)

    def _check_option(self, path: str, name: str, kind: str) -> None:
        if name not in self._known:
            fitting = (known for known, option in self._known.items() if option.type == kind)
            self._unknown(path, "option", name, fitting)
        if self._known[name].type != kind:
            self._fail(path, f"the option '{name}' is not of the type {kind}")

    def _check_make(self, path: str, make: Make, earlier: list[str]) -> None:
        match make:
            case KeyValue(low=low, high=high) | UniformValue(low=low, high=high):
                for name, bound in (("low", low), ("high", high)):
                    if isinstance(bound, str):
                        self._check_option(f"{path}.{name}", bound, "integer")
            case DigitsValue(groups=groups):
                if not 1 <= groups <= MAX_GROUPS:
                    self._fail(f"{path}.groups", f"1 to {MAX_GROUPS} groups")
            case SumValue(of=terms):
                for term in terms:
                    if isinstance(term, str) and term not in earlier:
                        self._check_term(f"{path}.of", term, earlier)

    def _check_term(self, path: str, term: str, earlier: list[str]) -> None:
        if term not in self._known:
            valid = [*earlier, *(name for name, option in self._known.items() if option.type == "integer")]
            self._unknown(path, "variable or option", term, iter(valid))
        self._check_option(path, term, "integer")

    def _check_statement(self, path: str, statement: StatementText, step: StepText) -> None:
        if not statement.name or not statement.sql.strip():
            self._fail(path, "a statement needs a name and SQL")
        if self._sql.setdefault(statement.name, statement.sql) != statement.sql:
            self._fail(f"{path}.name", f"another statement with other SQL is called '{statement.name}'")
        plain = _QUOTED.sub("''", statement.sql)
        for field in _FIELD.findall(plain):
            if field != "table":
                self._unknown(f"{path}.sql", "field", field, iter(["table"]))
        if plain.count("?") != len(statement.bind):
            self._fail(
                f"{path}.bind",
                f"the SQL has {plain.count('?')} placeholders, {len(statement.bind)} variables are bound",
            )
        for name in statement.bind:
            if name not in step.let:
                self._unknown(f"{path}.bind", "variable", name, iter(step.let))
