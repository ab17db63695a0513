"""Small tools that know nothing of the web, not even what a URL is. Pure: no clock, no socket, no file."""
