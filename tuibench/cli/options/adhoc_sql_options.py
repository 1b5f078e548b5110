"""`--sql` and related options: a load of the user's own statements instead of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from tuibench.cli.options.profile_options import parse_profile_options, split_profile_and_options
from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.plan import OptionValue, RunPlan

if TYPE_CHECKING:
    from tuibench.workload.compile.adhoc_sql import AdhocTransaction


@dataclass(frozen=True)
class AdhocSqlOptions:
    """Options of every command that drives a load."""

    SECTION: ClassVar = "Your own SQL"

    sql: Annotated[
        list[str] | None,
        Option(
            "--sql",
            metavar="SQL",
            help="Your own transaction, instead of a profile: 'SELECT … WHERE id=:id'.",
        ),
    ] = None
    sql_file: Annotated[
        list[str] | None,
        Option("--sql-file", metavar="FILE", help="The same from a file, one transaction per file."),
    ] = None
    sql_param: Annotated[
        list[str] | None,
        Option(
            "--sql-param",
            metavar="NAME=DRAW",
            help="Values of a :name: id=1..1000, city=Rome|Oslo, x=id % 10, …",
        ),
    ] = None
    sql_weights: Annotated[
        str, Option("--sql-weights", metavar="N/N", help="Relative weights of the transactions: 9/1.")
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.sql or self.sql_file)

    def text(self) -> str:
        """Text of the profile, empty without one. Raises UsageError with the position in the SQL."""
        from tuibench.model.notation import parse_weights
        from tuibench.workload.compile.adhoc_sql import (
            adhoc_profile_text,
            number_transactions,
            parse_parameter,
        )

        if not self.is_given:
            if self.sql_param or self.sql_weights:
                raise UsageError("there is no SQL to go with it", "give it with --sql or --sql-file")
            return ""
        texts = [
            *number_transactions(self.sql or []),
            *(_read_sql_file(path) for path in self.sql_file or []),
        ]
        names = [text.name for text in texts]
        weights = parse_weights(self.sql_weights, names) if self.sql_weights else {}
        parameters = dict(parse_parameter(text) for text in self.sql_param or [])
        return adhoc_profile_text(texts, parameters, [weights.get(name, 1.0) for name in names])

    def profile_and_options(
        self, profile: str, arguments: Sequence[str]
    ) -> tuple[str, dict[str, OptionValue]]:
        """The profile's name and options; a name is not allowed together with the user's own SQL."""
        from tuibench.workload.compile.adhoc_sql import ADHOC_PROFILE

        if not self.is_given:
            if not profile:
                raise UsageError(
                    "missing argument 'profile'",
                    "give one, such as oltp_read_write, or your own SQL with --sql",
                )
            return split_profile_and_options(profile, arguments)
        if profile and not profile.startswith("--"):
            raise UsageError(f"there is a profile, {profile}, and --sql", "give one of them")
        return ADHOC_PROFILE, parse_profile_options([profile, *arguments] if profile else arguments)

    def apply_to(self, plan: RunPlan) -> RunPlan:
        """The plan with the SQL in it. Raises UsageError if the profile is invalid."""
        from tuibench.workload import library
        from tuibench.workload.compile.adhoc_sql import ADHOC_PROFILE

        if text := self.text():
            library.parse_profile(text, ADHOC_PROFILE)
            return msgspec.structs.replace(
                plan, profile=ADHOC_PROFILE, profile_text=text, sql_words=tuple(self._words())
            )
        return plan

    def _words(self) -> Iterator[str]:
        """The options as command-line words, to reproduce the run."""
        yield from (f"--sql={text}" for text in self.sql or ())
        yield from (f"--sql-file={path}" for path in self.sql_file or ())
        yield from (f"--sql-param={text}" for text in self.sql_param or ())
        if self.sql_weights:
            yield f"--sql-weights={self.sql_weights}"


def _read_sql_file(path: str) -> AdhocTransaction:
    from tuibench import files
    from tuibench.workload.compile.adhoc_sql import AdhocTransaction

    try:
        text = files.read_text(files.expand_path(path), pipes=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--sql-file: cannot read {path}: {error}") from error
    stem = "".join(letter if letter.isalnum() else "_" for letter in Path(path).stem.lower())
    return AdhocTransaction(stem or "file", path, text)
