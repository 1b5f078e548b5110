"""Reports of a run: text, Markdown, a self-contained HTML page, and the commands that repeat it."""
