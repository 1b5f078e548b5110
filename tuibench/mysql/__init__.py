"""How to talk to a server. The only room that imports asyncmy."""
