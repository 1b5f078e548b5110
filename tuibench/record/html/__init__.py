"""HTML report of a run in one self-contained file: markup, SVG charts, sections.

Nothing in it is fetched: style, script and pictures are inside. Colours follow the reader's dark or light
mode.
"""
