"""Workloads: profile language, compiled programs, value generation, data sets.

No I/O except reading profiles.
"""
