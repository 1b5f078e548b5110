"""Parsing of arguments to option values; help texts; parser errors."""
