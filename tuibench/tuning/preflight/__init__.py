"""Preflight check: `reader` gathers facts, `checks` derives findings.

A fact that the login may not see is missing, and the check reports that. Checks change nothing.
"""
