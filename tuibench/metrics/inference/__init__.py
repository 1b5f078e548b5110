"""Statistical inference on benchmark figures, in plain Python.

`sequential` is for A/B differences under continuous monitoring, `attribution` for differences before and
after a change, `across_starts` for groups of server starts, `change_points` for the history of one plan,
`steadiness` for one run. All verdicts use the terms of `verdict`.
"""
