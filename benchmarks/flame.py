"""`python -m benchmarks.flame [--svg FILE]`: where the CPU of a crawl goes, as a flame graph.

py-spy, in an environment of its own, samples a crawl of a made-up web; only what runs is counted, waiting is not.
With `--native` it looks into compiled code too, which slows the crawl down.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from benchmarks.crawl import CACHE
from benchmarks.flame_svg import flame
from benchmarks.made_web import MadeWeb
from benchmarks.rivals import RIVALS, NotInstalled, Rival, Task, into_venv, ready
from benchmarks.serving import Serving
from benchmarks.tree import Tree

PROFILER = Rival("py-spy", "stacks", into_venv("py-spy"), lambda home, task: [])
DRAWING = Path(__file__).parents[1] / "docs/img/flame.svg"


def read_stacks(text: str) -> Counter[str]:
    """Lines of `outer;inner COUNT`, with line numbers and the machinery of imports left out."""
    stacks: Counter[str] = Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [_readable(frame) for frame in stack.split(";") if "<frozen" not in frame]
        if frames and count.isdigit():
            stacks[";".join(frames)] += int(count)
    return stacks


def _readable(frame: str) -> str:
    """`write (lycosa/backends/warc.py:80)` is `lycosa.backends.warc write`; of others' files the last folder is named.

    A process is named by its command, which holds folders of whoever ran it: `process` is enough.
    """
    if frame.startswith("process "):
        return "process"
    found = re.fullmatch(r"(.+?) \((.+?)(?::\d+)?\)", frame)
    if found is None:
        return frame
    name, file = found.groups()
    parts = file.removesuffix(".py").split("/")
    ours = len(parts) - parts.index("lycosa") if "lycosa" in parts else 0
    return f"{'.'.join(parts[-(ours or 2) :])} {name}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flame", description=__doc__)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--pages", type=int, default=100, help="of each host")
    parser.add_argument("--pages-kb", type=int, default=20)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--svg", type=Path, default=DRAWING)
    args = parser.parse_args()
    cache = args.cache.resolve()
    try:
        home = ready(PROFILER, cache)
    except NotInstalled as reason:
        raise SystemExit(f"py-spy is needed: {reason}") from reason
    web = MadeWeb(args.hosts, args.pages, args.pages_kb)
    files = web.write(cache / "webs")
    out, stacks = cache / "out" / "flame", cache / "flame.stacks"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    seeds = out / "seeds"
    seeds.write_text("".join(f"{web.url(host)}\n" for host in range(args.hosts)))
    task = Task(seeds, web.addresses, out, 128, args.processes, None)
    spy = [str(home / "venv/bin/py-spy"), "record", "--subprocesses", "--format", "raw", "--rate", "200"]
    spy += ["--native"] if args.native else []
    with Serving(cache / "nginx", {address: files / address for address in web.addresses}).running():
        tree = Tree([*spy, "--output", str(stacks), "--", *RIVALS["lycosa"].command(cache, task)], out / "log")
        if tree.finish(1800).exit_code != 0:
            print((out / "log").read_text()[-600:], file=sys.stderr)
    found = read_stacks(stacks.read_text())
    pages = args.hosts * args.pages
    args.svg.write_text(flame(found, f"CPU of a crawl of {pages} pages of {args.pages_kb} KB, {found.total()} samples"))
    print(f"{args.svg}: {found.total()} samples in {len(found)} stacks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
