"""Semantic checks of a profile before it is compiled: options, defaults, lists, weights, times, steps.

The schema (`language`) checks the structure. The first error is raised as a UsageError with its key path.

A variable is visible in the rest of the step that defines it and, if that step always runs at least once,
after it. Assigning a visible variable changes it everywhere: conditions can select values and loops can
accumulate.
"""

import re
from collections.abc import Iterable, Mapping

from tuibench.base.errors import UsageError
from tuibench.workload import expressions, language
from tuibench.workload.expressions import (
    RESERVED_WORDS,
    Expression,
    ExpressionType,
    literal,
    parse_expression,
    variable_names,
)
from tuibench.workload.language import (
    HeadlineText,
    LetSpec,
    Profile,
    ProfileErrorReporter,
    StepText,
    TransactionText,
)
from tuibench.workload.options import ProfileOption, parse_option_value
from tuibench.workload.program import CONNECTION, MAX_DECK_CARDS
from tuibench.workload.sql import strip_literals
from tuibench.workload.values import Draw, List, Operand, Uniform

_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*")


class ValueChecker:
    """Checks values with the variables that are defined before them."""

    def __init__(self, errors: ProfileErrorReporter, known: Mapping[str, ExpressionType]) -> None:
        self._errors = errors
        self._known = known

    def kind(self, path: str, text: str, scope: Mapping[str, ExpressionType]) -> ExpressionType:
        """The type of an expression's value."""
        with self._errors.at(path):
            return expressions.type_of(parse_expression(text), scope)

    def expect(
        self, path: str, text: str, scope: Mapping[str, ExpressionType], wanted: ExpressionType
    ) -> None:
        found = self.kind(path, text, scope)
        if found not in (wanted, "any"):
            self._errors.fail(path, f"'{text}' is a {found}, not a {wanted}")

    def define(self, path: str, name: str, scope: dict[str, ExpressionType], kind: ExpressionType) -> None:
        """Define a variable, visible from here on."""
        if name in self._known:
            self._errors.fail(path, f"'{name}' is an option, a list or a predefined name, and cannot be set")
        if not _VARIABLE.fullmatch(name) or name in RESERVED_WORDS:
            self._errors.fail(
                path, f"'{name}' is not a name: use lower-case letters, digits and _, not a keyword"
            )
        scope[name] = kind if scope.get(name, kind) == kind else "any"

    def check_lets(self, path: str, lets: Mapping[str, LetSpec], scope: dict[str, ExpressionType]) -> None:
        """Check values, each of which may use those before it."""
        for name, let in lets.items():
            self.define(f"{path}.{name}", name, scope, self._check(f"{path}.{name}", let, scope))

    def _check(self, path: str, let: LetSpec, scope: Mapping[str, ExpressionType]) -> ExpressionType:
        match let:
            case str():
                return self.kind(path, let, scope)
            case bool() | int() | float():
                return expressions.type_of(self._literal(path, let), scope)
            case List(of=of, count=count):
                self._check_generator(f"{path}.of", of)
                if isinstance(count, str):
                    self.expect(f"{path}.count", count, scope, "number")
            case _:
                self._check_generator(path, let)
        return let.TYPE

    def _literal(self, path: str, value: float) -> Expression:
        if value != value or value in (float("inf"), float("-inf")):
            self._errors.fail(path, f"{value} is not a number")
        return literal(value)

    def _check_generator(self, path: str, make: Draw[Operand]) -> None:
        for name in make.OPERANDS:
            if isinstance(operand := getattr(make, name), str):
                self.expect(f"{path}.{name}", operand, self._known, "number")
        with self._errors.at(path):
            make.check(path.rpartition("let.")[2])


_FIELD = re.compile(r"{([^{}]*)}")
TABLE_FIELD = "table"
MAX_REPEAT = 100_000
MAX_STEP_DEPTH = 10

VariableScope = dict[str, ExpressionType]


class StepChecker:
    """Checks the steps of one profile. `known` are the options, lists and given variables."""

    def __init__(self, errors: ProfileErrorReporter, known: VariableScope) -> None:
        self._errors = errors
        self._known = known
        self._values = ValueChecker(errors, known)
        self._sql: dict[str, str] = {}
        self._sizes: Mapping[str, Uniform[Operand]] = {}

    def check(self, steps: Iterable[tuple[str, language.StepText]], *, explicit: bool) -> None:
        """Raises UsageError for the first error in steps with their key paths.

        `explicit` is False if there is no transaction to roll back.
        """
        scope = dict(self._known)
        steps = list(steps)
        self._sizes = language.drawn_sizes(step for _, step in steps)
        for path, step in steps:
            self._check_step(path, step, scope, explicit, 1)

    def _check_step(
        self, path: str, step: language.StepText, scope: VariableScope, explicit: bool, depth: int
    ) -> None:
        if depth > MAX_STEP_DEPTH:
            self._errors.fail(path, f"steps are nested at most {MAX_STEP_DEPTH} deep")
        self._check_loop(path, step, scope)
        inner = dict(scope)
        for name in step.into:
            self._values.define(f"{path}.into", name, inner, "any")
        if step.index:
            self._values.define(f"{path}.index", step.index, inner, "number")
        self._values.check_lets(f"{path}.let", step.let, inner)
        if not step.statements and not step.steps and not step.let and not step.rollback:
            self._errors.fail(f"{path}.statements", "a step needs at least one")
        for number, statement in enumerate(step.statements):
            self._check_statement(f"{path}.statements[{number}]", statement, inner)
        self._check_sizes(path, step)
        always = not step.when and not step.each and isinstance(step.repeat, int) and step.repeat > 0
        lasting = dict(inner)
        for number, one in enumerate(step.steps):
            self._check_step(f"{path}.steps[{number}]", one, inner, explicit, depth + 1)
        if step.rollback is not False:
            if not 0 < step.rollback <= 1:
                self._errors.fail(f"{path}.rollback", "true, or a probability above 0 and up to 1")
            if not explicit:
                self._errors.fail(
                    f"{path}.rollback", "rollback needs a transaction, but this one is autocommit"
                )
        if always:
            scope.update(lasting)

    def _check_loop(self, path: str, step: language.StepText, scope: VariableScope) -> None:
        if step.when:
            self._values.expect(f"{path}.when", step.when, scope, "flag")
        if isinstance(step.repeat, str):
            self._values.expect(f"{path}.repeat", step.repeat, scope, "number")
        elif step.repeat < 0:
            self._errors.fail(f"{path}.repeat", "a repeat count must not be negative")
        elif step.repeat > MAX_REPEAT:
            self._errors.fail(f"{path}.repeat", f"at most {MAX_REPEAT:,} times")
        if step.table:
            self._values.expect(f"{path}.table", step.table, scope, "number")
        if step.each:
            self._values.expect(f"{path}.each", step.each, scope, "list")
            if step.repeat != 1:
                self._errors.fail(f"{path}.repeat", "a step has either `repeat` or `each`")
        if bool(step.each) != bool(step.into):
            self._errors.fail(f"{path}.into", "`each` needs names for the items, `into` needs `each`")

    def _check_statement(self, path: str, statement: language.StatementText, scope: VariableScope) -> None:
        if not statement.name or not statement.sql.strip():
            self._errors.fail(path, "a statement needs a name and SQL")
        if self._sql.setdefault(statement.name, statement.sql) != statement.sql:
            self._errors.fail(f"{path}.name", f"a statement with other SQL has the name '{statement.name}'")
        sql = strip_literals(statement.sql)
        for field in _FIELD.findall(sql):
            if field != TABLE_FIELD and field not in statement.parts:
                self._errors.unknown(f"{path}.sql", "field", field, [TABLE_FIELD, *statement.parts])
        self._check_bind(path, statement.sql, statement.bind, scope)
        for name, part in statement.parts.items():
            self._check_part(path, name, part, statement, scope)
        for captured in statement.capture:
            self._values.define(f"{path}.capture", captured, scope, "any")
        if statement.rows:
            self._values.define(f"{path}.rows", statement.rows, scope, "list")

    def _check_bind(self, path: str, sql: str, bind: tuple[str, ...], scope: VariableScope) -> None:
        wanted = strip_literals(sql).count("?")
        if wanted != len(bind):
            self._errors.fail(
                f"{path}.bind", f"the SQL has {wanted} placeholders, {len(bind)} variables are bound"
            )
        for text in bind:
            if self._values.kind(f"{path}.bind", text, scope) == "list":
                self._errors.fail(f"{path}.bind", f"'{text}' is a list; a placeholder takes one value")

    def _check_part(
        self,
        path: str,
        name: str,
        part: language.PartText,
        statement: language.StatementText,
        scope: VariableScope,
    ) -> None:
        where = f"{path}.parts.{name}"
        if len(statement.parts) > 1:
            self._errors.fail(f"{path}.parts", "a statement may have one part only")
        if (
            strip_literals(statement.sql).count(f"{{{name}}}") != 1
            or name == TABLE_FIELD
            or not name.isidentifier()
        ):
            self._errors.fail(where, "the SQL must contain the part's name once, in braces")
        if isinstance(part.repeat, str):
            self._values.expect(f"{where}.repeat", part.repeat, scope, "number")
        elif not 1 <= part.repeat <= MAX_REPEAT:
            self._errors.fail(f"{where}.repeat", f"1 to {MAX_REPEAT:,} times")
        if _FIELD.search(strip_literals(part.sql)):
            self._errors.fail(f"{where}.sql", "a part must not contain fields")
        if "?" in part.join:
            self._errors.fail(f"{where}.join", "placeholders are allowed in the part's sql only")
        inner = dict(scope)
        if part.index:
            self._values.define(f"{where}.index", part.index, inner, "number")
        self._values.check_lets(f"{where}.let", part.let, inner)
        self._check_bind(where, part.sql, part.bind, inner)

    def _check_sizes(self, path: str, step: language.StepText) -> None:
        """A part of variable size becomes one step for each size, so its step must not draw a table for its
        statements.
        """
        sizes = {
            f"{path}.statements[{number}].parts.{name}.repeat": part.repeat
            for number, statement in enumerate(step.statements)
            for name, part in statement.parts.items()
            if isinstance(part.repeat, str) and not self._is_known(part.repeat)
        }
        for where, size in sizes.items():
            if size not in self._sizes:
                self._errors.fail(
                    where, f"'{size}' is neither made of options nor a variable that uniform draws"
                )
            if any(f"{{{TABLE_FIELD}}}" in statement.sql for statement in step.statements):
                self._errors.fail(
                    where, f"a part of variable size is not possible in a step with {{{TABLE_FIELD}}}"
                )

    def _is_known(self, text: str) -> bool:
        return set(variable_names(parse_expression(text))) <= self._known.keys()


MAX_PAUSE_SECONDS = 3600
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_PYTHON_TYPES = {"integer": int, "number": int | float, "flag": bool, "text": str, "choice": str}


class ProfileChecker:
    """Checks one profile against the options that it may use; `source` names the file in errors."""

    def __init__(self, profile: Profile, known: Mapping[str, ProfileOption], source: str) -> None:
        self._profile = profile
        self._known = known
        self._errors = ProfileErrorReporter(source)
        scope: dict[str, ExpressionType] = {
            name: expressions.option_type(option) for name, option in known.items()
        }
        scope |= dict.fromkeys(profile.lists, "list")
        self._scope: dict[str, ExpressionType] = {**scope, CONNECTION: "number"}

    def check(self) -> None:
        """Raises UsageError for the first error."""
        self._check_options()
        self._check_lists()
        for key in ("empty_unless", "pauses_if"):
            if flag := getattr(self._profile, key):
                self._check_flag(key, flag)
        if self._profile.headline is not None:
            self._check_headline(self._profile.headline)
        if not self._profile.transactions:
            self._errors.fail("transactions", "a profile needs at least one")
        steps = StepChecker(self._errors, self._scope)
        for number, transaction in enumerate(self._profile.transactions):
            self._check_transaction(f"transactions[{number}]", transaction, steps)
        self._check_deck()

    def _check_options(self) -> None:
        for name, option in self._profile.options.items():
            path = f"options.{name}"
            if not _IDENTIFIER.fullmatch(name) or name in RESERVED_WORDS or name == CONNECTION:
                self._errors.fail(
                    path, "an option's name has lower-case letters, digits and _, and is not a keyword"
                )
            if (option.type == "choice") != bool(option.choices):
                self._errors.fail(
                    path, 'choices are required for the type "choice" and not allowed for others'
                )
            self._check_default(path, name, option.default)
        for name, value in self._profile.defaults.items():
            if name not in self._known:
                self._errors.unknown(f"defaults.{name}", "option", name, self._known)
            self._check_default(f"defaults.{name}", name, value)

    def _check_default(self, path: str, name: str, value: object) -> None:
        option = self._known[name]
        if not isinstance(value, _PYTHON_TYPES[option.type]) or (
            isinstance(value, bool) and option.type != "flag"
        ):
            self._errors.fail(path, f"'{value}' is not of the type {option.type}")
        with self._errors.at(path):
            parse_option_value(name, option, value)

    def _check_lists(self) -> None:
        for name, items in self._profile.lists.items():
            if name in self._known or name == CONNECTION:
                self._errors.fail(f"lists.{name}", f"an option is called '{name}', too")
            if not _IDENTIFIER.fullmatch(name) or name in RESERVED_WORDS:
                self._errors.fail(f"lists.{name}", "a list's name has lower-case letters, digits and _")
            if any(item != item or item in (float("inf"), float("-inf")) for item in items):
                self._errors.fail(f"lists.{name}", "a list contains numbers and texts")

    def _check_transaction(self, path: str, transaction: TransactionText, steps: StepChecker) -> None:
        if not 0 < transaction.weight < float("inf"):
            self._errors.fail(f"{path}.weight", "a weight must be above 0")
        if [other.name for other in self._profile.transactions].count(transaction.name) > 1:
            self._errors.fail(f"{path}.name", f"two transactions are called '{transaction.name}'")
        for key in ("keying_seconds", "think_seconds"):
            if not 0 <= getattr(transaction, key) < MAX_PAUSE_SECONDS:
                self._errors.fail(f"{path}.{key}", f"a pause is 0 to {MAX_PAUSE_SECONDS:,} seconds")
        if not transaction.steps:
            self._errors.fail(f"{path}.steps", "a transaction needs at least one")
        if isinstance(transaction.autocommit, str):
            self._check_flag(f"{path}.autocommit", transaction.autocommit)
        found = [
            self._named(f"{path}.steps[{number}]", step) for number, step in enumerate(transaction.steps)
        ]
        steps.check(found, explicit=transaction.autocommit is not True)

    def _check_headline(self, headline: HeadlineText) -> None:
        names = [transaction.name for transaction in self._profile.transactions]
        if headline.transaction not in names:
            self._errors.unknown("headline.transaction", "transaction", headline.transaction, names)
        if not 0 < headline.per_seconds < float("inf"):
            self._errors.fail("headline.per_seconds", "a time must be above 0")
        if headline.needs:
            self._check_flag("headline.needs", headline.needs)
        for flag in headline.note_if:
            self._check_flag(f"headline.note_if.{flag}", flag)
        if headline.ideal:
            known = {name: kind for name, kind in self._scope.items() if name != CONNECTION}
            ValueChecker(self._errors, known).expect("headline.ideal", headline.ideal, known, "number")

    def _named(self, path: str, step: StepText | str) -> tuple[str, StepText]:
        """The step and its key path. Named steps that are not used are not checked."""
        if isinstance(step, StepText):
            return path, step
        if step not in self._profile.steps:
            self._errors.unknown(path, "step", step, self._profile.steps)
        return f"steps.{step}", self._profile.steps[step]

    def _check_flag(self, path: str, name: str) -> None:
        if name not in self._known:
            flags = [known for known, option in self._known.items() if option.type == "flag"]
            self._errors.unknown(path, "option", name, flags)
        if self._known[name].type != "flag":
            self._errors.fail(path, f"the option '{name}' is not of the type flag")

    def _check_deck(self) -> None:
        if self._profile.draw != "deck":
            return
        for number, transaction in enumerate(self._profile.transactions):
            if transaction.weight != int(transaction.weight):
                self._errors.fail(
                    f"transactions[{number}].weight", "in a deck, a weight is a number of cards"
                )
        if sum(transaction.weight for transaction in self._profile.transactions) > MAX_DECK_CARDS:
            self._errors.fail("draw", f"a deck has at most {MAX_DECK_CARDS:,} cards")


def check_profile_with_options(profile: Profile, known: Mapping[str, ProfileOption], source: str) -> None:
    """Raises UsageError for the first error in the profile."""
    try:
        ProfileChecker(profile, known, source).check()
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply") from None
