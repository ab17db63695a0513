"""More open files than a process begins with, if the system allows them."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import resource, sys
from lycosa.backends.open_files import allow_many_open_files, open_files
resource.setrlimit(resource.RLIMIT_NOFILE, tuple(map(int, sys.argv[1:])))
before = open_files()
allow_many_open_files()
print(before, open_files(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("soft", "hard", "then"), [(256, 1_500, 1_500), (256, 256, 256), (1_000, 1_000, 1_000)])
def test_the_limit_is_raised_as_far_as_it_goes(soft: int, hard: int, then: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(soft), str(hard)]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    assert [int(word) for word in said] == [soft, then, then, hard]
