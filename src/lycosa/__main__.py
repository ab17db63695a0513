"""`python -m lycosa`."""

from lycosa.cli.main import run

if __name__ == "__main__":
    run()
