"""Server settings: catalogue, changes, restore, preflight checks.

`catalogue` and `presets` say what may be changed; `tuner` changes it, journal first; `undo` puts it back, and
`guardian` and `restore` call the same `undo` when the session no longer can.
"""
