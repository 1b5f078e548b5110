"""The bars above and below every screen: header, verdict line, caption, footer."""
