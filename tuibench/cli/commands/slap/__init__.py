"""`tuibench slap`: mysqlslap's test with its options and its report."""
