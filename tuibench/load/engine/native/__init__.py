"""The Rust engine: logins in Python, transactions on native threads."""
