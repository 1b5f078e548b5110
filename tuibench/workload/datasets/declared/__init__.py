"""Data sets declared as tables of columns: YCSB, TATP, SmallBank, insert benchmark."""
