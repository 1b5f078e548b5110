"""Reports of one run as text and Markdown: sysbench replay, analysis, reproduction commands."""
