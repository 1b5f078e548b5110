"""Compiled programs: transactions, steps, statements, values, and the SQL text they hold."""
