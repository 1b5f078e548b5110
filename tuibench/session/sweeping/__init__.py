"""Sweeps: which cells there are, in which order they run, how each one is run, and what happens when one
fails. One cell is one session, without a screen, in this process.
"""
