"""Semantic checks of a profile: options, defaults, lists, weights, times.

The schema checks the structure, `step_checker` checks the steps. The first error is raised as a UsageError
with its key path.
"""

import re
from collections.abc import Mapping

from tuibench.errors import UsageError
from tuibench.workload.compile.step_checker import StepChecker, ValueChecker
from tuibench.workload.language import expression_types, options
from tuibench.workload.language.expression_types import ExpressionType
from tuibench.workload.language.expressions import RESERVED_WORDS
from tuibench.workload.language.options import ProfileOption
from tuibench.workload.language.profile_error import ProfileErrorReporter
from tuibench.workload.language.profile_schema import HeadlineText, Profile, StepText, TransactionText
from tuibench.workload.program.program import CONNECTION, MAX_DECK_CARDS

MAX_PAUSE_SECONDS = 3600
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_PYTHON_TYPES = {"integer": int, "number": int | float, "flag": bool, "text": str, "choice": str}


class ProfileChecker:
    """Checks one profile against the options it may use; `source` names the file in errors."""

    def __init__(self, profile: Profile, known: Mapping[str, ProfileOption], source: str) -> None:
        self._profile = profile
        self._known = known
        self._errors = ProfileErrorReporter(source)
        scope: dict[str, ExpressionType] = {
            name: expression_types.option_type(option) for name, option in known.items()
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
            options.parse_option_value(name, option, value)

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
        if headline.ideal:
            known = {name: kind for name, kind in self._scope.items() if name != CONNECTION}
            ValueChecker(self._errors, known).expect("headline.ideal", headline.ideal, known, "number")

    def _named(self, path: str, step: StepText | str) -> tuple[str, StepText]:
        """The step and its key path. Unused named steps are not checked."""
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
