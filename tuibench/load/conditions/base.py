"""What a condition is: a name, what it says, and the SELECT of all rows that contradict it."""

import msgspec


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that the tables fulfil.

    `differing` is a SELECT, without ORDER BY and LIMIT, whose rows contradict it: first what each is about,
    then the values that should agree; all columns have names. `about` is what one of its rows stands for
    ("district"), `plural` what several do. One that `only_after_load` holds is broken by a run; `touched`,
    then, is a SELECT that gives a row as soon as anything ran. With a `command`, that is sent in place of
    `differing`: one like CHECK TABLE, whose rows end in OK or in what is wrong, and see no snapshot.
    """

    name: str
    says: str
    differing: str
    about: str = "row"
    plural: str = ""
    only_after_load: bool = False
    touched: str = ""
    command: str = ""

    def count(self, number: int) -> str:
        """So many of them, in words: 1 district, 3 districts."""
        return f"{number:,} {self.about if number == 1 else self.plural or self.about + 's'}"
