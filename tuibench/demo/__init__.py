"""A private throw-away server: found, made, watched, and gone afterwards. The door is `server`."""
