"""`--sql` and its kin: a load made of the user's own statements instead of a profile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
import typer

from tuibench import files
from tuibench.cli.profile_options import profile_and_options, profile_options
from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue, Plan
from tuibench.model.weights import weights_in
from tuibench.workload import library
from tuibench.workload.own_sql import PROFILE, Text, numbered, parameter_in, profile_text


@dataclass(frozen=True)
class OwnSql:
    """Options of every command that drives a load."""

    SECTION: ClassVar = "SQL of your own"

    sql: Annotated[
        list[str] | None,
        typer.Option(
            "--sql", help="A transaction of your own, instead of a profile: 'SELECT … WHERE id=:id'."
        ),
    ] = None
    sql_file: Annotated[
        list[str] | None, typer.Option("--sql-file", help="The same from a file: one transaction each.")
    ] = None
    sql_param: Annotated[
        list[str] | None,
        typer.Option("--sql-param", help="How a :name is drawn: id=1..1000, city=Rome|Oslo, x=id % 10, …"),
    ] = None
    sql_weights: Annotated[
        str, typer.Option("--sql-weights", help="How often each transaction, against the others: 9/1.")
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.sql or self.sql_file)

    def text(self) -> str:
        """The profile that is meant, empty without one. Raises UsageError with the place in the SQL."""
        if not self.is_given:
            if self.sql_param or self.sql_weights:
                raise UsageError("there is no SQL to go with it", "give it with --sql or --sql-file")
            return ""
        texts = [*numbered(self.sql or []), *(_from_file(path) for path in self.sql_file or [])]
        names = [text.name for text in texts]
        weights = weights_in(self.sql_weights, names) if self.sql_weights else {}
        parameters = dict(parameter_in(text) for text in self.sql_param or [])
        return profile_text(texts, parameters, [weights.get(name, 1.0) for name in names])

    def named(self, profile: str, arguments: Sequence[str]) -> tuple[str, dict[str, OptionValue]]:
        """The profile's name and options; with SQL of one's own there must be no other name."""
        if not self.is_given:
            if not profile:
                raise UsageError(
                    "missing argument 'profile'",
                    "give one, such as oltp_read_write, or SQL of your own with --sql",
                )
            return profile_and_options(profile, arguments)
        if profile and not profile.startswith("--"):
            raise UsageError(f"there is a profile, {profile}, and --sql", "give one of them")
        return PROFILE, profile_options([profile, *arguments] if profile else arguments)

    def into(self, plan: Plan) -> Plan:
        """The plan with the SQL in it. Raises UsageError for what is no profile."""
        if text := self.text():
            library.parse(text, PROFILE)
            return msgspec.structs.replace(
                plan, profile=PROFILE, profile_text=text, sql_words=tuple(self._words())
            )
        return plan

    def _words(self) -> Iterator[str]:
        """The options that say it again."""
        yield from (f"--sql={text}" for text in self.sql or ())
        yield from (f"--sql-file={path}" for path in self.sql_file or ())
        yield from (f"--sql-param={text}" for text in self.sql_param or ())
        if self.sql_weights:
            yield f"--sql-weights={self.sql_weights}"


def _from_file(path: str) -> Text:
    try:
        text = files.text(files.path(path), pipes=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--sql-file: cannot read {path}: {error}") from error
    stem = "".join(letter if letter.isalnum() else "_" for letter in Path(path).stem.lower())
    return Text(stem or "file", path, text)
