"""The features: each folder has a feature's plan, steps, texts, panel and command."""
