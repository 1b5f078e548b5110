"""Whether a server looks as if somebody lived on it, so that changing its settings deserves a question."""

from tuibench.tuning.preflight.facts import Facts
from tuibench.units import counted


def signs(facts: Facts) -> tuple[str, ...]:
    """What was seen, each in a few words; nothing for a server that is idle, or has other loads only."""
    server, found = facts.server, []
    if server.replicas:
        found.append(f"{counted(server.replicas, 'replica')} attached")
    loads = [c for c in server.clients or () if c.benchmarks(server.database, facts.demand.stems)]
    if strangers := [client for client in server.busy if client not in loads]:
        users = ", ".join(dict.fromkeys(client.user for client in strangers))
        found.append(f"{counted(len(strangers), 'connection')} of others at work ({users})")
    if server.written and not loads:
        found.append(f"others changed data {server.written:,} times in {server.watched_seconds:.1f} s")
    return tuple(found)
