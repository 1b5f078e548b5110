"""Statistical inference on benchmark figures, in plain Python.

`sequential` A/B differences that may be watched, `attribution` differences before and after a change,
`across_starts` groups of server starts, `change_points` the history of one plan, `steadiness` one run.
All verdicts use the words of `verdict`.
"""
