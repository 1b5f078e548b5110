"""The live screen and the dialogs over it."""
