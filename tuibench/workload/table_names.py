"""Table names in a statement, completed with the database."""

from collections.abc import Iterator, Sequence

from tuibench.workload.sql import Token, tokens_of

_FIRST = frozenset(
    {"FROM", "JOIN", "STRAIGHT_JOIN", "INTO", "UPDATE", "INSERT", "REPLACE", "DELETE", "TABLE", "USING"}
)
_MODIFIERS = frozenset(
    "LOW_PRIORITY DELAYED HIGH_PRIORITY IGNORE QUICK LATERAL ONLY HISTORY INTO FROM TABLE".split()  # noqa: SIM905
)
"""Words that may stand between a verb and its table."""

_END_OF_LIST = frozenset(
    """
    WHERE SET VALUES VALUE SELECT ON USING GROUP HAVING ORDER LIMIT WINDOW FOR UNION EXCEPT INTERSECT AS USE
    FORCE RETURNING LOCK PARTITION WITH DEFAULT
    """.split()  # noqa: SIM905
)


def qualified(sql: str, database: str) -> str:
    """The statement with the database before each table name that has none; unchanged if `database` is empty.

    Names of common table expressions, aliases in a multi-table DELETE, `dual` and functions are not changed.
    """
    if not database:
        return sql
    tokens = tokens_of(sql)
    prefix = "`" + database.replace("`", "``") + "`."
    places = set(_table_places(tokens))
    return "".join(
        prefix + token.text if place in places else token.text for place, token in enumerate(tokens)
    )


def _plain(name: str) -> str:
    return name.strip("`").lower()


class _Level:
    """A pair of parentheses: whether a table may follow, whether a comma continues a list of tables, whether
    it is a call.
    """

    __slots__ = ("in_list", "is_call", "may_follow")

    def __init__(self, *, is_call: bool = False, may_follow: bool = False) -> None:
        self.is_call = is_call
        self.may_follow = may_follow
        self.in_list = may_follow


def _table_places(tokens: Sequence[Token]) -> Iterator[int]:
    """The indexes of table names without a database."""
    places = [place for place, token in enumerate(tokens) if token.kind not in ("space", "hint")]
    words = [tokens[place].text.upper() for place in places]
    own = _own_names(tokens, places, words)
    levels = [_Level()]
    for number, place in enumerate(places):
        token, word = tokens[place], words[number]
        level = levels[-1]
        before = words[number - 1] if number else ""
        after = words[number + 1] if number + 1 < len(words) else ""
        if word == "(":
            is_name = bool(number) and tokens[places[number - 1]].kind == "name"
            is_call = (
                is_name and not level.may_follow and before not in _END_OF_LIST and before not in _NO_CALL
            )
            levels.append(_Level(is_call=is_call and after != "SELECT", may_follow=level.may_follow))
            level.may_follow = False
        elif word == ")":
            if len(levels) > 1:
                levels.pop()
        elif word == ",":
            level.may_follow = level.in_list
        elif token.kind != "name" or before == "." or level.is_call or (word == "USING" and after == "("):
            continue
        elif (
            word in _FIRST
            and not (word == "UPDATE" and before in ("KEY", "FOR"))
            and not (word in ("INSERT", "REPLACE") and after == "(")
        ):
            is_deleted = word == "DELETE"
            level.may_follow = level.in_list = not (word == "USING" and after == "(")
            if is_deleted:
                level.in_list = True
        elif level.may_follow and word not in _MODIFIERS:
            level.may_follow = False
            if word in _END_OF_LIST:
                level.in_list = False
            elif after not in (".", "(") or (after == "(" and before in _INSERTING):
                name = token.text
                if (
                    "." not in name.replace("`.`", ".")
                    and not name.startswith("@")
                    and _plain(name) not in own
                ):
                    yield place
        elif word in _END_OF_LIST - {"ON", "USING", "AS", "USE", "FORCE", "PARTITION", "FOR"}:
            level.in_list = False


_INSERTING = frozenset({"INTO", "INSERT", "REPLACE", "IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"})
_NO_CALL = frozenset(
    {
        "FROM",
        "JOIN",
        "IN",
        "EXISTS",
        "AND",
        "OR",
        "NOT",
        "AS",
        "BY",
        "ANY",
        "ALL",
        "SOME",
        "THEN",
        "ELSE",
        "WHEN",
    }
)


def _own_names(tokens: Sequence[Token], places: Sequence[int], words: Sequence[str]) -> frozenset[str]:
    """Names that the statement itself defines: common table expressions, and aliases in a DELETE."""
    found = {"dual"}
    if words[:1] == ["DELETE"] and "FROM" in words:
        found |= {
            _plain(tokens[places[number + 1]].text)
            for number, word in enumerate(words[:-1])
            if word == "AS" and number > words.index("FROM")
        }
        found.update(_bare_aliases(tokens, places, words))
    if "WITH" in words:
        for number, word in enumerate(words[:-1]):
            if word == "AS" and words[number + 1] == "(" and number:
                name = number - 1
                if words[name] == ")":
                    while name and words[name] != "(":
                        name -= 1
                    name -= 1
                found.add(_plain(tokens[places[max(name, 0)]].text))
    return frozenset(found)


def _bare_aliases(tokens: Sequence[Token], places: Sequence[int], words: Sequence[str]) -> Iterator[str]:
    """Aliases without AS: a name that follows the name of a table."""
    for number in range(1, len(words) - 1):
        before, token, alias = words[number - 1], tokens[places[number]], tokens[places[number + 1]]
        is_table = before in ("FROM", "JOIN", "USING", ",") and token.kind == "name"
        if is_table and alias.kind == "name" and words[number + 1] not in _END_OF_LIST | _JOINS:
            yield _plain(alias.text)


_JOINS = frozenset({"JOIN", "LEFT", "RIGHT", "INNER", "CROSS", "NATURAL", "STRAIGHT_JOIN", "FROM"})
