"""From a profile and the user's options to a program: numbers resolved, SQL written for each table."""

from collections.abc import Mapping

import msgspec

from tuibench.errors import UsageError
from tuibench.workload import check as checking
from tuibench.workload import distribution, options
from tuibench.workload.compile_headline import compiled
from tuibench.workload.compile_steps import FRAME, StepCompiler
from tuibench.workload.compile_values import ValueCompiler
from tuibench.workload.datasets import data_set_class
from tuibench.workload.options import Option
from tuibench.workload.profile import Profile
from tuibench.workload.program import Program, StatementClass, Transaction, all_steps

THREADS = "threads"
SHARED = {
    THREADS: options.integer(1, "connections that the run is planned for", minimum=1, maximum=100_000),
    **distribution.OPTIONS,
}
"""What every profile has. --threads is the run's own option, handed on to the profile."""


def known_options(profile: Profile, source: str = "") -> dict[str, Option]:
    """All options of a profile: those of every profile, its data set's with its own defaults, and its own."""
    shared = {**SHARED, **data_set_class(profile.data_set, source or profile.name).OPTIONS}
    for name in profile.options:
        if name in shared:
            raise UsageError(
                f"{source or profile.name}: options.{name}: the data set {profile.data_set} has this option",
                "give it another default in [defaults]",
            )
    for name, default in profile.defaults.items():
        if name in shared:
            shared[name] = msgspec.structs.replace(shared[name], default=default)
    own = {
        name: msgspec.structs.replace(option, default=profile.defaults.get(name, option.default))
        for name, option in profile.options.items()
    }
    return {**shared, **own}


def check(profile: Profile, source: str) -> None:
    """Raises UsageError for the first thing in the profile that means nothing."""
    checking.check(profile, known_options(profile, source), source)


def compile_profile(profile: Profile, given: Mapping[str, object]) -> Program:
    """The program of a checked profile with a user's options, as text or typed, `-` and `_` alike.

    `threads` among them is the number of connections planned: some profiles share out tables or keys to them.
    Raises UsageError for an unknown option, a bad value, and options that leave nothing to do.
    """
    values = options.resolve(known_options(profile), given)
    data_set = data_set_class(profile.data_set, profile.name).from_options(values)
    compiler = StepCompiler(ValueCompiler(values, profile.lists), data_set.table_names(), profile.steps)
    pauses = not profile.pauses_if or bool(values[profile.pauses_if])
    transactions = tuple(compiler.transaction(each, pauses=pauses) for each in profile.transactions)
    for transaction in transactions:
        if not _does_anything(transaction):
            raise UsageError(
                f"{profile.name}: with these options the transaction '{transaction.name}' has nothing to do",
                "raise one of its repeat counts",
            )
    return Program(
        profile=profile.name,
        data_set=profile.data_set,
        tables=data_set.table_names(),
        options=values,
        transactions=transactions,
        deck=profile.draw == "deck",
        empty=bool(profile.empty_unless) and not values[profile.empty_unless],
        headline=compiled(profile.headline, ValueCompiler(values, profile.lists)),
    )


def _does_anything(transaction: Transaction) -> bool:
    return any(
        statement.cls is not StatementClass.OTHER or statement.name not in FRAME
        for step in all_steps(transaction.steps)
        for statement in step.statements
    )
