"""The probe: searches the saturation point of a server under load."""
