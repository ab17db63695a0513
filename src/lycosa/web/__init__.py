"""The rules of the web as pure functions: bytes and strings in, values out. No clock, no socket, no file."""
