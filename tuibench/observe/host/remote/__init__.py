"""Figures of a remote host, over ssh or from a node_exporter."""
