"""The figures of another host, over ssh or from a node_exporter."""
