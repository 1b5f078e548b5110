"""The profile language: TOML schema, decoding, options, expressions and their types."""
