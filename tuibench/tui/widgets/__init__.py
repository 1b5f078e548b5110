"""The widgets of the live screen: all of them paint lines, none of them decides what a line says."""
