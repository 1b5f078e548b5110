"""Tests of the plan of several hosts."""
