"""One technology each, never each other."""
