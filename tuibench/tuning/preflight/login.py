"""Checks of the login: what the load needs, what changing settings needs, what looking needs."""

from tuibench.model.finding import Finding
from tuibench.tuning import access, catalogue
from tuibench.tuning.preflight.facts import Facts
from tuibench.tuning.preflight.findings import note, ok, stop, unseen


def load_privileges(facts: Facts) -> Finding:
    """The server's own word counts; without tables to try the statements on, its grants."""
    name, grants, kinds = "privileges_load", facts.server.grants, facts.demand.kinds
    wanted = ", ".join(kinds)
    if facts.data.refusal:
        return stop(name, f"the load's statements are refused: {facts.data.refusal}", _grant(facts, kinds))
    if facts.data.refusal == "":
        return ok(name, f"the server accepts every statement of the load ({wanted})")
    if grants is None:
        return unseen(name, "its own privileges (SHOW GRANTS)")
    missing = grants.lacks(kinds)
    if not missing:
        return ok(name, f"this login has {wanted} on the database")
    found = f"this login has no {', '.join(missing)} on the database as a whole"
    return (note if grants.partly else stop)(name, found, _grant(facts, missing))


def setting_privileges(facts: Facts) -> Finding:
    """Which settings of the catalogue this login may change."""
    name, grants, info = "privileges_settings", facts.server.grants, facts.server.info
    if grants is None:
        return unseen(name, "its own privileges (SHOW GRANTS)")
    settings = [setting for setting in catalogue.SETTINGS if not catalogue.absence(setting, info)]
    refused = [setting for setting in settings if access.missing_privilege(setting, info, grants.everywhere)]
    if not refused:
        return ok(name, f"this login may change all {len(settings)} settings")
    needed = dict.fromkeys(setting.privileges(info.flavour, info.version_tuple)[0] for setting in refused)
    return note(
        name,
        f"this login may not change {len(refused)} of {len(settings)} settings "
        f"({', '.join(setting.name for setting in refused[:3])}{', …' if len(refused) > 3 else ''})",
        f"GRANT {', '.join(needed)} ON *.* TO {facts.server.account}",
    )


def process_privilege(facts: Facts) -> Finding:
    name = "privileges_process"
    if facts.server.grants is None:
        return unseen(name, "its own privileges (SHOW GRANTS)")
    if facts.server.sees_all:
        return ok(name, "this login sees all sessions and locks (PROCESS)")
    return note(
        name,
        "without the PROCESS privilege the sessions of others, replicas and lock waits stay hidden",
        f"GRANT PROCESS ON *.* TO {facts.server.account}",
    )


def _grant(facts: Facts, kinds: tuple[str, ...]) -> str:
    return f"GRANT {', '.join(kinds)} ON `{facts.server.database}`.* TO {facts.server.account}"
