"""Server settings: catalogue, changes, restore, preflight checks.

`catalogue` contains the settings that can be changed; `change` changes them, journalled first; `undo`
restores them, also when the session can no longer do it.
"""
