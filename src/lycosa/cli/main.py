"""`lycosa`: the command and its verbs.

Exit codes: 0 done, 1 something Lycosa was asked to check does not hold, 2 bad usage or bad input. Errors are one
sentence on stderr that names the remedy; a traceback is always a bug of ours.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

import lycosa
from lycosa.cli.options import printable
from lycosa.errors import LycosaError

USAGE_ERROR = 2
# Our matrices have a few rows: threads for them would only wait, and take memory. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Nor is memory that Arrow has freed worth a thread: a process without threads can be copied (see `lycosa.births`).
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")


# Every command, in the order one needs them. A module is loaded when its command is: none pays for the others.
_COMMANDS = {
    "crawl": "crawl",
    "demo": "demo",
    "search": "search",
    "serve": "serve",
    "status": "look",
    "pages": "look",
    "get": "look",
    "explain": "look",
    "report": "report",
    "rank": "rank",
    "export": "export",
    "host": "host",
    "verify": "look",
    "index": "index",
    "backup": "backup",
    "forget": "forget",
    "try": "trying",
    "config": "config",
    "sim": "sim",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"lycosa.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, "trying" if cmd_name == "try" else cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`lycosa COMMAND --help` says more of each.",
)
@click.version_option(lycosa.__version__, prog_name="lycosa")
def cli() -> None:
    """A polite web crawler, and the search engine that stands on it."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    sys.exit(_outcome(arguments))


def _outcome(arguments: list[str] | None) -> int:
    try:
        return _obey(arguments)
    except BrokenPipeError:  # the reader of our output has gone, as in `lycosa … | head`
        _forget_output()
        return 0
    except OSError as error:
        _forget_output()
        return _fail(f"{error.filename or 'standard output'} cannot be written: {error.strerror or error}")


def _obey(arguments: list[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="lycosa", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return USAGE_ERROR
    except click.ClickException as error:
        return _fail(error.format_message())
    except LycosaError as error:
        return _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted")
    except SystemExit as error:  # click's own answer to a closed pipe
        _forget_output()
        return 0 if error.code == 1 else USAGE_ERROR


def _forget_output() -> None:
    """Send what is still to be flushed at exit nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str) -> int:
    click.echo(f"lycosa: {printable(' '.join(sentence.split()))}", err=True)
    return USAGE_ERROR
