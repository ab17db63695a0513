"""Search over HTTP: a page for people, JSON for programs."""
