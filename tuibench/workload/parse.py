"""From the text of an expression to its tree: a grammar of operators, and nothing that could run anything.

    a if test else b · or · and · not · == != < <= > >= · + - · * / // % · -a · a[i] · f(a, b) · (a) [a, b]

in the order of binding, loosest first. Names are variables, options and lists; texts stand in 'single
quotes'.
"""

import re
from collections.abc import Callable
from decimal import Decimal

from tuibench.errors import UsageError
from tuibench.workload.expression import Apply, Choose, Constant, Exact, Expression, Items, Variable

MOST_CHARACTERS = 2000
MOST_TOKENS = 200
DEEPEST = 30
BINDING = {
    **dict.fromkeys(("or",), 1),
    **dict.fromkeys(("and",), 2),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
}
"""How tightly each operator binds; `not` stands at 3, a sign before a number at 7."""

NOT, SIGN = 3, 7
FUNCTIONS = {"min": 2, "max": 2, "len": 1}
"""What can be called, with the number of operands."""

WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
RESERVED = frozenset({*WORDS, *FUNCTIONS, "and", "or", "not", "if", "else"})
"""No variable can be called so."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-z_][a-z0-9_]*)|(?P<text>'[^']*')"
    r"|(?P<sign>//|[=!<>]=|[-+*/%<>()\[\],]))"
)


def parse(text: str) -> Expression:
    """The tree of an expression. Raises UsageError saying what stands where it must not."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"an expression has at most {MOST_CHARACTERS:,} characters")
    return _Parser(_tokens(text.strip())).whole()


def is_name(text: str) -> bool:
    """Whether a text is a single name, which needs no evaluation."""
    return re.fullmatch(r"[a-z_][a-z0-9_]*", text) is not None and text not in RESERVED


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise UsageError(f"'{text[place:].strip()[:1]}' means nothing in an expression")
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    if len(found) > MOST_TOKENS:
        raise UsageError("this expression is too long", "give its parts names with `let`")
    return found


class _Parser:
    """Precedence climbing over a list of tokens."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "the end")]
        self._place = 0
        self._depth = 0

    def whole(self) -> Expression:
        expression = self._expression()
        if self._next[0] != "end":
            raise self._unexpected()
        return expression

    @property
    def _next(self) -> tuple[str, str]:
        return self._tokens[self._place]

    def _unexpected(self) -> UsageError:
        kind, word = self._next
        if kind == "end":
            return UsageError("the expression ends too early")
        return UsageError(f"'{word}' has no place there in an expression")

    def _take(self, word: str) -> bool:
        """Steps over this word if it is next."""
        taken = self._next[0] in ("name", "sign") and self._next[1] == word
        self._place += taken
        return taken

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._unexpected()

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UsageError("this expression is nested too deep", "give its parts names with `let`")
        value = self._binary(1)
        if self._take("if"):
            test = self._binary(1)
            self._expect("else")
            value = Choose(test, value, self._expression())
        self._depth -= 1
        return value

    def _binary(self, loosest: int) -> Expression:
        left = self._unary()
        while (binding := BINDING.get(self._next[1], 0)) >= loosest and self._next[0] in ("name", "sign"):
            operator = self._next[1]
            self._place += 1
            left = Apply(operator, (left, self._binary(binding + 1)))
        return left

    def _unary(self) -> Expression:
        for word, operator, binding in (("not", "not", NOT), ("-", "negative", SIGN)):
            if self._take(word):
                self._depth += 1
                if self._depth > DEEPEST:
                    raise UsageError("this expression is nested too deep")
                operand = self._binary(binding)
                self._depth -= 1
                return Apply(operator, (operand,))
        return self._picked(self._atom())

    def _picked(self, value: Expression) -> Expression:
        while self._take("["):
            value = Apply("pick", (value, self._expression()))
            self._expect("]")
        return value

    def _atom(self) -> Expression:
        kind, word = self._next
        makers: dict[str, Callable[[str], Expression]] = {
            "number": _number,
            "text": lambda text: Constant(text[1:-1]),
            "name": self._named,
        }
        if kind in makers:
            self._place += 1
            return makers[kind](word)
        if self._take("("):
            value = self._expression()
            self._expect(")")
            return value
        if self._take("["):
            return Items(self._operands("]"))
        raise self._unexpected()

    def _named(self, word: str) -> Expression:
        if word in WORDS:
            return Constant(WORDS[word])
        if word in FUNCTIONS:
            self._expect("(")
            operands = self._operands(")")
            if len(operands) != FUNCTIONS[word]:
                raise UsageError(f"{word}() takes {FUNCTIONS[word]} values, not {len(operands)}")
            return Apply(word, operands)
        if word in RESERVED:
            self._place -= 1
            raise self._unexpected()
        return Variable(word)

    def _operands(self, closing: str) -> tuple[Expression, ...]:
        if self._take(closing):
            return ()
        found = [self._expression()]
        while self._take(","):
            found.append(self._expression())
        self._expect(closing)
        return tuple(found)


def _number(word: str) -> Expression:
    if len(word) > 40:
        raise UsageError(f"the number {word[:10]}… is too long")
    return Exact(Decimal(word)) if "." in word else Constant(int(word))
