"""One technology each. A file knows others only of its own technology, and those that all use: `layout`, `durable`."""
