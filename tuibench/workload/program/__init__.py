"""Compiled programs: transactions, steps, statements, values, and their SQL text."""
