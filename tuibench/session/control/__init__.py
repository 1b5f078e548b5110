"""Operator commands: their execution, limits, and the guard for production servers."""
