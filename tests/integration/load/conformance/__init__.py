"""Both engines under the same tests on real servers: what one promises, the other keeps."""
