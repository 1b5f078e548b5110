"""Sweeps: the matrix of cells, their order, their tables, and how each cell is run and retried."""
