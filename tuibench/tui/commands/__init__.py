"""The operator's actions: action table, chart navigation, thread control, command palette."""
