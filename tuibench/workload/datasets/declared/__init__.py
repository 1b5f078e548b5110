"""Data sets that are declared as tables of columns: YCSB, TATP, SmallBank, insert benchmark."""
