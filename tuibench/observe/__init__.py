"""Sampling of server and host. The only package that imports psutil."""
