"""crash"""
