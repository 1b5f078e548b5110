"""mysqlslap's options under their own names, and their valid combinations."""

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

from tuibench import files
from tuibench.errors import UsageError
from tuibench.model.option import Option, check_range
from tuibench.model.schedule import MAX_THREADS
from tuibench.workload.slap.generated_sql import (
    LoadType,
    SlapColumns,
    SlapQuery,
    create_sql,
    generate_queries,
    insert_query,
)
from tuibench.workload.slap.script import SlapScript, StorageEngine, split_user_statements

ESCAPES = {r"\n": "\n", r"\t": "\t"}


@dataclass(frozen=True)
class GenerationOptions:
    """Statements that mysqlslap generates by itself."""

    auto_generate_sql: Annotated[
        bool, Option("-a", "--auto-generate-sql", help="Generate the table and the statements.")
    ] = False
    auto_generate_sql_load_type: Annotated[
        str, Option("--auto-generate-sql-load-type", help="mixed, update, write, key or read.")
    ] = LoadType.MIXED
    auto_generate_sql_add_autoincrement: Annotated[
        bool, Option("--auto-generate-sql-add-autoincrement", help="Give the table an AUTO_INCREMENT key.")
    ] = False
    auto_generate_sql_guid_primary: Annotated[
        bool, Option("--auto-generate-sql-guid-primary", help="Give the table GUIDs as its key.")
    ] = False
    auto_generate_sql_secondary_indexes: Annotated[
        int, Option("--auto-generate-sql-secondary-indexes", help="Number of secondary indexes.")
    ] = 0
    auto_generate_sql_unique_query_number: Annotated[
        int,
        Option(
            "--auto-generate-sql-unique-query-number", help="Number of distinct statements of the clients."
        ),
    ] = 10
    auto_generate_sql_unique_write_number: Annotated[
        int,
        Option(
            "--auto-generate-sql-unique-write-number", help="Number of distinct INSERTs that fill the table."
        ),
    ] = 10
    auto_generate_sql_write_number: Annotated[
        int,
        Option(
            "--auto-generate-sql-write-number", help="Statements that create and fill the table: rows + 1."
        ),
    ] = 100
    auto_generate_sql_execute_number: Annotated[
        int, Option("--auto-generate-sql-execute-number", help="Queries of each client.")
    ] = 0
    number_int_cols: Annotated[
        str, Option("-y", "--number-int-cols", help="INT columns; 2:1 to index them.")
    ] = "1"
    number_char_cols: Annotated[
        str, Option("-x", "--number-char-cols", help="VARCHAR columns; 2:1 to index them.")
    ] = "1"

    def script(self, before: tuple[str, ...], after: tuple[str, ...], stream: Random) -> SlapScript:
        """Table, rows and queries. Raises UsageError for conflicting options."""
        load_type = self.load_type
        columns = self._columns()
        if load_type is LoadType.KEY and not columns.has_key:
            raise UsageError(
                "a load by key needs a key",
                "add --auto-generate-sql-add-autoincrement or --auto-generate-sql-guid-primary",
            )
        rows = check_range(
            "--auto-generate-sql-unique-write-number", self.auto_generate_sql_unique_write_number, 1
        )
        count = self.auto_generate_sql_unique_query_number
        made = generate_queries(
            load_type, columns, check_range("--auto-generate-sql-unique-query-number", count, 1), stream
        )
        inserts = [insert_query(columns, stream).sql for _ in range(rows)]
        return SlapScript(
            create=(create_sql(columns), *inserts),
            writes=check_range("--auto-generate-sql-write-number", self.auto_generate_sql_write_number, 1),
            queries=made,
            before=before,
            after=after,
            wants_keys=any(query.by_key for query in made),
        )

    @property
    def load_type(self) -> LoadType:
        """Load type by a prefix, such as its first letter as in mysqlslap. Raises UsageError for others."""
        for load_type in LoadType:
            if load_type.startswith(self.auto_generate_sql_load_type) and self.auto_generate_sql_load_type:
                return load_type
        raise UsageError(
            f"--auto-generate-sql-load-type is one of {', '.join(LoadType)}, "
            f"not '{self.auto_generate_sql_load_type}'"
        )

    def _columns(self) -> SlapColumns:
        if self.auto_generate_sql_add_autoincrement and self.auto_generate_sql_guid_primary:
            raise UsageError(
                "a table has one key",
                "either --auto-generate-sql-add-autoincrement or --auto-generate-sql-guid-primary",
            )
        integers, are_integers_indexed = _parse_columns("--number-int-cols", self.number_int_cols)
        texts, are_texts_indexed = _parse_columns("--number-char-cols", self.number_char_cols)
        if not integers + texts:
            raise UsageError("a table needs a column", "raise --number-int-cols or --number-char-cols")
        return SlapColumns(
            autoincrement=self.auto_generate_sql_add_autoincrement,
            guid=self.auto_generate_sql_guid_primary,
            secondary_indexes=check_range(
                "--auto-generate-sql-secondary-indexes", self.auto_generate_sql_secondary_indexes, 0, 60
            ),
            integers=integers,
            integers_indexed=are_integers_indexed,
            texts=texts,
            texts_indexed=are_texts_indexed,
        )


@dataclass(frozen=True)
class StatementOptions:
    """The user's own statements."""

    query: Annotated[
        str, Option("-q", "--query", metavar="SQL|FILE", help="Queries of the clients: SQL, or a file.")
    ] = ""
    create: Annotated[
        str, Option("--create", metavar="SQL|FILE", help="Statements that create the tables: SQL, or a file.")
    ] = ""
    pre_query: Annotated[
        str, Option("--pre-query", metavar="SQL|FILE", help="SQL or a file, run before the clients.")
    ] = ""
    post_query: Annotated[
        str, Option("--post-query", metavar="SQL|FILE", help="SQL or a file, run after the clients.")
    ] = ""
    delimiter: Annotated[
        str, Option("-F", "--delimiter", metavar="TEXT", help="Separator of statements [end of line].")
    ] = "\n"

    @property
    def given(self) -> bool:
        return bool(self.query or self.create)

    def script(self) -> SlapScript:
        """The user's queries. Raises UsageError if there are none."""
        found = self.parts("--query", self.query)
        if not found:
            raise UsageError("the clients have no queries to run", "give --query, or --auto-generate-sql")
        return SlapScript(
            create=self.parts("--create", self.create),
            queries=tuple(map(SlapQuery, found)),
            before=self.before,
            after=self.after,
        )

    @property
    def before(self) -> tuple[str, ...]:
        return self.parts("--pre-query", self.pre_query)

    @property
    def after(self) -> tuple[str, ...]:
        return self.parts("--post-query", self.post_query)

    def parts(self, name: str, text: str) -> tuple[str, ...]:
        """Statements of an option, which is the name of a file or SQL."""
        delimiter = ESCAPES.get(self.delimiter, self.delimiter)
        if not delimiter:
            raise UsageError("--delimiter is empty", "for example --delimiter=';'")
        return split_user_statements(_read_file_or_text(name, text), delimiter)


def _read_file_or_text(name: str, text: str) -> str:
    try:
        return files.read_text(Path(text)) if text and os.path.isfile(text) else text
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: cannot read {text}: {error}") from error


def parse_concurrency(text: str) -> tuple[int, ...]:
    """Parse `16,32`. Raises UsageError for invalid numbers of clients."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--concurrency takes numbers separated by commas, not '{text}'") from error
    return tuple(check_range("--concurrency", clients, 1, MAX_THREADS) for clients in found)


def parse_engines(text: str) -> tuple[StorageEngine, ...]:
    """Parse `innodb,memory:max_rows=1000`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(StorageEngine(name, options) for name, _, options in (part.partition(":") for part in parts))


def _parse_columns(name: str, text: str) -> tuple[int, bool]:
    """Parse `2`, or `2:1` for indexed columns."""
    number, _, indexed = text.partition(":")
    if not number.isdecimal() or indexed not in ("", "0", "1"):
        raise UsageError(f"{name} is a number of columns, with :1 after it to index them, not '{text}'")
    return check_range(name, int(number), 0, 1000), indexed == "1"
