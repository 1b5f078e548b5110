"""Terminal user interface: displays a session through its client and submits commands; makes no decision
about the run.
"""
