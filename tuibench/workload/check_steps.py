"""Whether steps mean something: every variable is set before it is used, and placeholders have their values.

A variable that a step sets for the first time is known in the rest of that step and, if the step is always
done once or more, after it. One that is known already is set anew for everybody: so can a condition choose a
value, and a loop add up.
"""

import re
from collections.abc import Iterable

from tuibench.workload.check_values import ValueChecker
from tuibench.workload.fault import Fault
from tuibench.workload.kinds import Kind
from tuibench.workload.placeholders import plain
from tuibench.workload.profile import PartText, StatementText, StepText

_FIELD = re.compile(r"{([^{}]*)}")
TABLE = "table"
MAX_REPEAT = 100_000
DEEPEST = 10

Scope = dict[str, Kind]


class StepChecker:
    """Checks the steps of one profile. `known` are the options, lists and given variables."""

    def __init__(self, fault: Fault, known: Scope) -> None:
        self._fault = fault
        self._known = known
        self._values = ValueChecker(fault, known)
        self._sql: dict[str, str] = {}

    def check(self, steps: Iterable[tuple[str, StepText]], *, explicit: bool) -> None:
        """Raises UsageError for the first fault in steps with their key paths.

        `explicit` tells whether there is anything to roll back.
        """
        scope = dict(self._known)
        for path, step in steps:
            self._check_step(path, step, scope, explicit, 1)

    def _check_step(self, path: str, step: StepText, scope: Scope, explicit: bool, depth: int) -> None:
        if depth > DEEPEST:
            self._fault.fail(path, f"steps are nested at most {DEEPEST} deep")
        self._check_loop(path, step, scope)
        inner = dict(scope)
        self._name_items(path, step, inner)
        self._values.check_lets(f"{path}.let", step.let, inner)
        if not step.statements and not step.steps and not step.let and not step.rollback:
            self._fault.fail(f"{path}.statements", "a step needs at least one")
        for number, statement in enumerate(step.statements):
            self._check_statement(f"{path}.statements[{number}]", statement, inner)
        always = not step.when and not step.each and isinstance(step.repeat, int) and step.repeat > 0
        lasting = dict(inner)
        for number, one in enumerate(step.steps):
            self._check_step(f"{path}.steps[{number}]", one, inner, explicit, depth + 1)
        self._check_rollback(path, step, explicit)
        if always:
            scope.update(lasting)

    def _check_loop(self, path: str, step: StepText, scope: Scope) -> None:
        if step.when:
            self._values.expect(f"{path}.when", step.when, scope, "flag")
        if isinstance(step.repeat, str):
            self._values.expect(f"{path}.repeat", step.repeat, scope, "number")
        elif step.repeat < 0:
            self._fault.fail(f"{path}.repeat", "a repeat count is not below 0")
        elif step.repeat > MAX_REPEAT:
            self._fault.fail(f"{path}.repeat", f"at most {MAX_REPEAT:,} times")
        if step.table:
            self._values.expect(f"{path}.table", step.table, scope, "number")
        if step.each:
            self._values.expect(f"{path}.each", step.each, scope, "list")
            if step.repeat != 1:
                self._fault.fail(f"{path}.repeat", "a step has either `repeat` or `each`")
        if bool(step.each) != bool(step.into):
            self._fault.fail(f"{path}.into", "`each` needs names for the items, `into` needs `each`")

    def _name_items(self, path: str, step: StepText, scope: Scope) -> None:
        for name in step.into:
            self._values.define(f"{path}.into", name, scope, "any")
        if step.index:
            self._values.define(f"{path}.index", step.index, scope, "number")

    def _check_statement(self, path: str, statement: StatementText, scope: Scope) -> None:
        if not statement.name or not statement.sql.strip():
            self._fault.fail(path, "a statement needs a name and SQL")
        if self._sql.setdefault(statement.name, statement.sql) != statement.sql:
            self._fault.fail(f"{path}.name", f"another statement with other SQL is called '{statement.name}'")
        sql = plain(statement.sql)
        for field in _FIELD.findall(sql):
            if field != TABLE and field not in statement.parts:
                self._fault.unknown(f"{path}.sql", "field", field, [TABLE, *statement.parts])
        self._check_bind(path, statement.sql, statement.bind, scope)
        for name, part in statement.parts.items():
            self._check_part(path, name, part, statement, scope)
        self._check_captures(path, statement, scope)

    def _check_bind(self, path: str, sql: str, bind: tuple[str, ...], scope: Scope) -> None:
        wanted = plain(sql).count("?")
        if wanted != len(bind):
            self._fault.fail(
                f"{path}.bind", f"the SQL has {wanted} placeholders, {len(bind)} variables are bound"
            )
        for text in bind:
            if self._values.kind(f"{path}.bind", text, scope) == "list":
                self._fault.fail(f"{path}.bind", f"'{text}' is a list, a placeholder takes one value")

    def _check_part(
        self, path: str, name: str, part: PartText, statement: StatementText, scope: Scope
    ) -> None:
        where = f"{path}.parts.{name}"
        if len(statement.parts) > 1:
            self._fault.fail(f"{path}.parts", "a statement has one part at most")
        if plain(statement.sql).count(f"{{{name}}}") != 1 or name == TABLE or not name.isidentifier():
            self._fault.fail(where, "the SQL names its part once, in braces")
        if isinstance(part.repeat, str):
            self._values.expect(f"{where}.repeat", part.repeat, self._known, "number")
        elif not 1 <= part.repeat <= MAX_REPEAT:
            self._fault.fail(f"{where}.repeat", f"1 to {MAX_REPEAT:,} times")
        if _FIELD.search(plain(part.sql)):
            self._fault.fail(f"{where}.sql", "a part has no fields of its own")
        if "?" in part.join:
            self._fault.fail(f"{where}.join", "placeholders stand in a part's sql")
        inner = dict(scope)
        self._values.check_lets(f"{where}.let", part.let, inner)
        self._check_bind(where, part.sql, part.bind, inner)

    def _check_captures(self, path: str, statement: StatementText, scope: Scope) -> None:
        for name in statement.capture:
            self._values.define(f"{path}.capture", name, scope, "any")
        if statement.rows:
            self._values.define(f"{path}.rows", statement.rows, scope, "list")

    def _check_rollback(self, path: str, step: StepText, explicit: bool) -> None:
        if step.rollback is False:
            return
        if not 0 < step.rollback <= 1:
            self._fault.fail(f"{path}.rollback", "true, or a probability above 0 and up to 1")
        if not explicit:
            self._fault.fail(f"{path}.rollback", "without a transaction there is nothing to roll back")
