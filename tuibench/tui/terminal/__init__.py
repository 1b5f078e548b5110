"""Terminal support: base app, keyboard, keymap, themes, partial updates, small terminals."""
