"""The command line. It reads arguments, calls the rest, and prints; it decides nothing itself."""
