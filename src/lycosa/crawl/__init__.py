"""The process: lease a URL, visit it, settle the outcome. `loop.py` is the main loop."""
