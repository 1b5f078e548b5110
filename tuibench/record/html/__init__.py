"""A run as one self-contained HTML file: markup, charts as SVG, and the sections they stand in.

Nothing in it is fetched: style, script and pictures are inside. Colours follow the reader's dark or light
mode.
"""
