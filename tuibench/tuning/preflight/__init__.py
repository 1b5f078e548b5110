"""The look at server and host before a run: `reader` gathers facts, `checks` makes findings of them.

A fact that the login may not see is missing, and the check says so; nothing here changes anything.
"""
