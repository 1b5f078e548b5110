"""The modes of replication that a failover compares."""

from enum import StrEnum

from tuibench.model.option import check_choice, parse_words


class Mode(StrEnum):
    """How a source and its replicas agree about a commit."""

    ASYNC = "async"
    SEMISYNC = "semisync"
    SEMISYNC_AFTER_COMMIT = "semisync-after-commit"
    GROUP = "group"


WAIT_POINTS = {Mode.SEMISYNC: "AFTER_SYNC", Mode.SEMISYNC_AFTER_COMMIT: "AFTER_COMMIT"}
"""The point of a commit at which a semi-synchronous source waits: before or after its engine commits."""

MEANINGS = {
    Mode.ASYNC: "the source does not wait for its replicas",
    Mode.SEMISYNC: "a replica has the commit before anybody can read it (AFTER_SYNC)",
    Mode.SEMISYNC_AFTER_COMMIT: "others can read the commit before a replica has it (AFTER_COMMIT)",
    Mode.GROUP: "a majority of MySQL's group has the commit; the group itself elects the new primary",
}


def parse_modes(text: str) -> tuple[Mode, ...]:
    """Parse `async,semisync`. Raises UsageError for an unknown mode, or one that is named twice."""
    return tuple(check_choice("--mode", word, tuple(Mode)) for word in parse_words("--mode", text))
