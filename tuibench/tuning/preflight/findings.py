"""Short ways to say what a check found."""

from tuibench.model.finding import Finding, Severity


def ok(id: str, found: str) -> Finding:
    return Finding(id=id, severity=Severity.OK, found=found)


def note(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.NOTE, found=found, remedy=remedy)


def warning(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.WARNING, found=found, remedy=remedy)


def stop(id: str, found: str, remedy: str = "") -> Finding:
    return Finding(id=id, severity=Severity.STOP, found=found, remedy=remedy)


def unseen(id: str, what: str, remedy: str = "") -> Finding:
    """This login may not look."""
    return note(id, f"this login may not see {what}", remedy)
