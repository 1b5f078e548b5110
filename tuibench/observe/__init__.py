"""What server and host say. The only room that imports psutil."""
