"""Tests of load from several hosts."""
