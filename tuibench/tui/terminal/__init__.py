"""The terminal: base app, keyboard, keymap, themes, partial updates, small terminals."""
