"""`tuibench slap`: mysqlslap's benchmark with its options and its report."""
