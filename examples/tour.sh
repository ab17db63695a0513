#!/bin/sh
# A tour of the verbs. With `lycosa` on the PATH: sh examples/tour.sh. It puts a small synthetic web on loopback and reads from it.
set -eu

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@" || test $? -eq 1; }

work=$(mktemp -d)
trap 'kill "$web" 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM

lycosa sim serve --hosts 6 --pages 60 --seed 3 --port 0 --json > "$work/web.json" &
web=$!
python3 - "$work" <<'PYTHON'
import json, pathlib, sys, time, urllib.request

work = pathlib.Path(sys.argv[1])
for _ in range(200):  # the server writes its line once it listens
    if (work / "web.json").read_text().endswith("\n"):
        break
    time.sleep(0.05)
for seed in json.loads((work / "web.json").read_text())["seeds"]:
    for name in ("robots.txt", "sitemap.xml", ""):
        try:
            with urllib.request.urlopen(seed + name, timeout=10) as answer:
                file = work / (name or "page.html")
                file.exists() or file.write_bytes(answer.read())
        except OSError:
            pass
PYTHON

say lycosa try url 'HTTP://www.Example.COM:80/a/../b%7e?utm_source=x&b=2&a=1#f'
say lycosa try url 'https://example.org/calendar?month=2099-01'
say cat "$work/robots.txt"
say lycosa try robots "$work/robots.txt" /private/page /index.html --agent Lycosa
say lycosa try extract "$work/page.html" --url http://127.0.0.1/
if [ -f "$work/sitemap.xml" ]; then say lycosa try sitemap "$work/sitemap.xml"; fi
say lycosa try url 'not a url'  || true
seed=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["seeds"][0])' "$work/web.json")
own='polite.own_hosts=["127.0.0.0/8"]'
say lycosa try fetch "$seed" -s "$own" -s polite.delay=0
say lycosa crawl "$seed" --scope web --delay 0s -s "$own" --max-pages 50 --plan
say lycosa crawl "$seed" --scope web --delay 0s -s "$own" --dir "$work/crawl"
say lycosa status --dir "$work/crawl"
say lycosa pages --limit 5 --dir "$work/crawl"
say lycosa explain "$seed" --dir "$work/crawl"
say lycosa report politeness --dir "$work/crawl"
say lycosa report traps --dir "$work/crawl"
say lycosa export parquet "$work/tables" --dir "$work/crawl"
say lycosa export wacz "$work/crawl.wacz" --dir "$work/crawl"
say lycosa host 127.32.0.2 --delay 5s --until 2h --dir "$work/crawl"
say lycosa backup "$work/copy" --dir "$work/crawl"
say lycosa forget 127.32.0.3 --yes --dir "$work/copy"
say lycosa verify --dir "$work/copy"
printf '\nThat was a tour. `lycosa --help` shows the rest.\n'
