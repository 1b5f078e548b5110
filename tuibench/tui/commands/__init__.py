"""The operator's actions: their table, chart navigation, thread steering, the palette."""
