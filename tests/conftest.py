"""Makes `tests/conformance.py` importable from every folder of tests, and says which examples Hypothesis tries.

The same examples each time, so that a change is judged by what it changed; `HYPOTHESIS_PROFILE=explore` looks for new
ones, and what it finds becomes an `@example`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
