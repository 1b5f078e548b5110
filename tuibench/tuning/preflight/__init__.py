"""Preflight check: `reader` gathers facts, `checks` derives findings.

A fact that is not visible to the login is missing, and the check reports that. Checks change nothing.
"""
