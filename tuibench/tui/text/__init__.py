"""Styled text and character graphics, without widgets."""
