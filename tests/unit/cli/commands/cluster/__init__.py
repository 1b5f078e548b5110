"""Tests of `tuibench cluster`."""
