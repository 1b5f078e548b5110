"""Semantic checks of steps: scopes and types of variables, placeholders, generators.

A variable is visible in the rest of the step that defines it and, if that step always runs at least once,
after it. Assigning a visible variable changes it everywhere: conditions can select values and loops can
accumulate.
"""

import re
from collections.abc import Iterable, Mapping

from tuibench.workload.language import expression_types
from tuibench.workload.language import profile_schema as schema
from tuibench.workload.language.expression_types import ExpressionType
from tuibench.workload.language.expressions import RESERVED_WORDS, Expression, literal, parse_expression
from tuibench.workload.language.profile_error import ProfileErrorReporter
from tuibench.workload.program.sql_text import strip_literals

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*")
MAX_GROUPS = 1000
MAX_PLACES = 12
DRAW_TYPES: dict[type, ExpressionType] = {
    schema.DigitsValue: "text",
    schema.ChanceValue: "flag",
    schema.ListValue: "list",
}
"""The types of generators' values; all others are numbers."""


class ValueChecker:
    """Checks values in the scope of the variables defined before them."""

    def __init__(self, errors: ProfileErrorReporter, known: Mapping[str, ExpressionType]) -> None:
        self._errors = errors
        self._known = known

    def kind(self, path: str, text: str, scope: Mapping[str, ExpressionType]) -> ExpressionType:
        """The type of an expression's value."""
        with self._errors.at(path):
            return expression_types.type_of(parse_expression(text), scope)

    def expect(
        self, path: str, text: str, scope: Mapping[str, ExpressionType], wanted: ExpressionType
    ) -> None:
        found = self.kind(path, text, scope)
        if found not in (wanted, "any"):
            self._errors.fail(path, f"'{text}' is a {found}, not a {wanted}")

    def define(self, path: str, name: str, scope: dict[str, ExpressionType], kind: ExpressionType) -> None:
        """Define a variable from here on."""
        if name in self._known:
            self._errors.fail(path, f"'{name}' is an option, a list or a predefined name, and cannot be set")
        if not _IDENTIFIER.fullmatch(name) or name in RESERVED_WORDS:
            self._errors.fail(
                path, f"'{name}' is not a name: use lower-case letters, digits and _, not a keyword"
            )
        scope[name] = kind if scope.get(name, kind) == kind else "any"

    def check_lets(
        self, path: str, lets: Mapping[str, schema.LetSpec], scope: dict[str, ExpressionType]
    ) -> None:
        """Each value may use those before it."""
        for name, let in lets.items():
            self.define(f"{path}.{name}", name, scope, self._check(f"{path}.{name}", let, scope))

    def _check(self, path: str, let: schema.LetSpec, scope: Mapping[str, ExpressionType]) -> ExpressionType:
        if isinstance(let, str):
            return self.kind(path, let, scope)
        if isinstance(let, bool | int | float):
            return expression_types.type_of(self._literal(path, let), scope)
        self._check_make(path, let, scope)
        return DRAW_TYPES.get(type(let), "number")

    def _literal(self, path: str, value: float) -> Expression:
        if value != value or value in (float("inf"), float("-inf")):
            self._errors.fail(path, f"{value} is not a number")
        return literal(value)

    def _check_make(self, path: str, make: schema.DrawSpec, scope: Mapping[str, ExpressionType]) -> None:
        match make:
            case schema.KeyValue() | schema.UniformValue():
                self._check_operands(path, low=make.low, high=make.high)
            case schema.NurandValue():
                self._check_operands(path, a=make.a, low=make.low, high=make.high, loaded_c=make.loaded_c)
            case schema.DecimalValue():
                self._check_operands(path, low=make.low, high=make.high)
                if not 0 <= make.places <= MAX_PLACES:
                    self._errors.fail(f"{path}.places", f"0 to {MAX_PLACES} places")
            case schema.DigitsValue(groups=groups):
                if not 1 <= groups <= MAX_GROUPS:
                    self._errors.fail(f"{path}.groups", f"1 to {MAX_GROUPS} groups")
            case schema.ChanceValue(percent=percent):
                self._check_percent(f"{path}.percent", percent)
            case schema.ListValue(of=of, count=count):
                self._check_make(f"{path}.of", of, scope)
                if isinstance(count, str):
                    self.expect(f"{path}.count", count, scope, "number")
            case schema.SerialValue() | schema.UniqueValue():
                pass

    def _check_operands(self, path: str, **operands: schema.Operand | None) -> None:
        for name, operand in operands.items():
            if isinstance(operand, str):
                self.expect(f"{path}.{name}", operand, self._known, "number")

    def _check_percent(self, path: str, percent: float | str) -> None:
        if isinstance(percent, str):
            self.expect(path, percent, self._known, "number")
        elif not 0 <= percent <= 100:
            self._errors.fail(path, "0 to 100 percent")


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

    def check(self, steps: Iterable[tuple[str, schema.StepText]], *, explicit: bool) -> None:
        """Raises UsageError for the first error in steps with their key paths.

        `explicit` is False if there is no transaction to roll back.
        """
        scope = dict(self._known)
        for path, step in steps:
            self._check_step(path, step, scope, explicit, 1)

    def _check_step(
        self, path: str, step: schema.StepText, scope: VariableScope, explicit: bool, depth: int
    ) -> None:
        if depth > MAX_STEP_DEPTH:
            self._errors.fail(path, f"steps are nested at most {MAX_STEP_DEPTH} deep")
        self._check_loop(path, step, scope)
        inner = dict(scope)
        self._name_items(path, step, inner)
        self._values.check_lets(f"{path}.let", step.let, inner)
        if not step.statements and not step.steps and not step.let and not step.rollback:
            self._errors.fail(f"{path}.statements", "a step needs at least one")
        for number, statement in enumerate(step.statements):
            self._check_statement(f"{path}.statements[{number}]", statement, inner)
        always = not step.when and not step.each and isinstance(step.repeat, int) and step.repeat > 0
        lasting = dict(inner)
        for number, one in enumerate(step.steps):
            self._check_step(f"{path}.steps[{number}]", one, inner, explicit, depth + 1)
        self._check_rollback(path, step, explicit)
        if always:
            scope.update(lasting)

    def _check_loop(self, path: str, step: schema.StepText, scope: VariableScope) -> None:
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

    def _name_items(self, path: str, step: schema.StepText, scope: VariableScope) -> None:
        for name in step.into:
            self._values.define(f"{path}.into", name, scope, "any")
        if step.index:
            self._values.define(f"{path}.index", step.index, scope, "number")

    def _check_statement(self, path: str, statement: schema.StatementText, scope: VariableScope) -> None:
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
        self._check_captures(path, statement, scope)

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
        part: schema.PartText,
        statement: schema.StatementText,
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
            self._values.expect(f"{where}.repeat", part.repeat, self._known, "number")
        elif not 1 <= part.repeat <= MAX_REPEAT:
            self._errors.fail(f"{where}.repeat", f"1 to {MAX_REPEAT:,} times")
        if _FIELD.search(strip_literals(part.sql)):
            self._errors.fail(f"{where}.sql", "a part must not contain fields")
        if "?" in part.join:
            self._errors.fail(f"{where}.join", "placeholders are allowed in the part's sql only")
        inner = dict(scope)
        self._values.check_lets(f"{where}.let", part.let, inner)
        self._check_bind(where, part.sql, part.bind, inner)

    def _check_captures(self, path: str, statement: schema.StatementText, scope: VariableScope) -> None:
        for name in statement.capture:
            self._values.define(f"{path}.capture", name, scope, "any")
        if statement.rows:
            self._values.define(f"{path}.rows", statement.rows, scope, "list")

    def _check_rollback(self, path: str, step: schema.StepText, explicit: bool) -> None:
        if step.rollback is False:
            return
        if not 0 < step.rollback <= 1:
            self._errors.fail(f"{path}.rollback", "true, or a probability above 0 and up to 1")
        if not explicit:
            self._errors.fail(f"{path}.rollback", "rollback needs a transaction, but this one is autocommit")
