"""CPU, memory, disks and network of this host, and its facts."""
