"""slap"""
