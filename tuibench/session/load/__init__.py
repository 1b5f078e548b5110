"""The load of a session: its workers or hosts, its level, its totals."""
