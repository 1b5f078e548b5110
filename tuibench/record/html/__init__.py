"""HTML report of a run in one self-contained file: markup, SVG charts, sections.

Style, script and charts are embedded. Colours follow the reader's dark or light mode.
"""
