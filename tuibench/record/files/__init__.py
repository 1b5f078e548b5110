"""The files of a run or sweep: written, read, looked up, and reconstructed after a crash."""
