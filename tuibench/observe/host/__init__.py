"""CPU, memory, disks, network and properties of this host."""
