"""Scenes: scripted, captioned demonstrations that a speaker plays, and writes, as TOML files."""
