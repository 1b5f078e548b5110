"""What the operator can do: the table of actions, chart navigation, thread steering, the palette."""
