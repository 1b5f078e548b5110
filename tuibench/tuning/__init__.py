"""Server settings: the catalogue of those that can be changed, journalled changes, restore, preflight."""
