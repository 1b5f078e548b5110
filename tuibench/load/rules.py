"""By which rules a worker runs its program: what errors do, how statements are sent, what a login adds."""

import msgspec

from tuibench.model.plan import Backlog, OnError, Plan


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How errors are taken, and how statements are sent.

    `ignored_errors` are tried again up to `max_retries` times; None ignores every error. `on_error` says what
    the others do. `prepared` is False to send every statement as text. `session_sql` is sent at each login.
    """

    ignored_errors: frozenset[int] | None
    max_retries: int
    on_error: OnError
    backlog: Backlog
    prepared: bool
    session_sql: tuple[str, ...]

    def ignores(self, code: int) -> bool:
        return self.ignored_errors is None or code in self.ignored_errors


def rules_of(plan: Plan) -> Rules:
    """The rules that a plan sets."""
    isolation = plan.isolation.upper().replace("-", " ")
    return Rules(
        ignored_errors=None if plan.ignored_errors is None else frozenset(plan.ignored_errors),
        max_retries=plan.max_retries,
        on_error=plan.on_error,
        backlog=plan.backlog,
        prepared=plan.prepared,
        session_sql=(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}",) if isolation else (),
    )
