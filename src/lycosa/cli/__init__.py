"""The command line. It reads arguments, calls the rest, and prints; it decides nothing itself."""

import gc

# Modules hold hardly any garbage: looking for it again and again while they are loaded is a twentieth of a start.
gc.set_threshold(20_000, 20, 50)
