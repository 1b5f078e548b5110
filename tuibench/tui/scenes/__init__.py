"""Scenes: scripted demonstrations with captions, written as TOML files."""
