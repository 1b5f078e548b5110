"""Styled text and drawing with characters, without widgets."""
