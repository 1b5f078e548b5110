"""The Rust engine: logins and goodbyes in Python, transactions on native threads."""
