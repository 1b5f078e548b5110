"""`tuibench slap`: mysqlslap's benchmark."""
