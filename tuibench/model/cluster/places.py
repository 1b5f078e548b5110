"""Parser of `--cluster`: the addresses of the load hosts, with brace ranges as in a shell.

ssh:db-client-{1..4}             four hosts
ssh:ann@a,bob@b:2222             two
exec:kubectl exec -i load-{0..3} -- tuibench agent
tls://scheduler:8786             the workers of a Dask scheduler
"""

import re
import shlex
from collections.abc import Iterable, Iterator

from tuibench.errors import UsageError

SSH_PLACE, EXEC_PLACE = "ssh:", "exec:"
DASK_SCHEMES = ("tls://", "tcp://")
MOST_HOSTS = 1000
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_HOST = re.compile(r"[A-Za-z0-9_.@%\[\]:][A-Za-z0-9_.@%\[\]:-]*")
EXAMPLES = "ssh:host1,host2 or 'ssh:load-{1..4}' or 'exec:kubectl exec -i load-{0..3} -- tuibench agent'"


def parse_places(given: Iterable[str]) -> tuple[str, ...]:
    """The address of each host. Raises UsageError for an invalid one."""
    places = tuple(place for text in given for place in _places(text.strip()))
    if len(places) > MOST_HOSTS:
        raise UsageError(f"--cluster names {len(places)} hosts; the maximum is {MOST_HOSTS}")
    twice = next((place for number, place in enumerate(places) if place in places[:number]), "")
    if twice.startswith(SSH_PLACE):
        raise UsageError(
            f"--cluster names {twice.removeprefix(SSH_PLACE)} twice", "one agent uses all of its cores"
        )
    return places


def _places(text: str) -> Iterator[str]:
    if text.startswith(DASK_SCHEMES):
        yield text
    elif text.startswith(EXEC_PLACE):
        yield from _commands(text.removeprefix(EXEC_PLACE))
    elif text.startswith(SSH_PLACE):
        for part in _outside_braces(text.removeprefix(SSH_PLACE)):
            for host in expanded(part):
                if not _HOST.fullmatch(host):
                    raise UsageError(f"--cluster: '{host}' is not a host for ssh", f"such as {EXAMPLES}")
                yield SSH_PLACE + host
    else:
        raise UsageError(f"--cluster: '{text}' has no ssh:, exec: or tls:", f"such as {EXAMPLES}")


def _commands(text: str) -> Iterator[str]:
    try:
        is_empty = not shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--cluster: {text}: {error}", "quote the command as in a shell") from error
    if is_empty:
        raise UsageError("--cluster: exec: needs a command", f"such as {EXAMPLES}")
    yield from (EXEC_PLACE + command for command in expanded(text))


def _outside_braces(text: str) -> list[str]:
    """Split at commas outside braces."""
    return re.split(r",(?![^{}]*\})", text)


def expanded(text: str) -> list[str]:
    """Expand the first braces of the text, {1..3} or {a,b}, to one text per value; without braces, the text
    itself.
    """
    braces = _BRACES.search(text)
    if braces is None:
        return [text]
    before, after = text[: braces.start()], text[braces.end() :]
    return [before + value + rest for value in _values(braces[1]) for rest in expanded(after)]


def _values(text: str) -> list[str]:
    span = _RANGE.fullmatch(text)
    if span is None:
        return text.split(",")
    first, last = int(span[1]), int(span[2])
    if abs(last - first) >= MOST_HOSTS:
        raise UsageError(f"--cluster: {{{text}}} are more than {MOST_HOSTS} hosts")
    step = 1 if last >= first else -1
    width = len(span[1]) if span[1].startswith("0") else 0
    return [f"{number:0{width}d}" for number in range(first, last + step, step)]
