"""Items from Python, as JSON lines: python examples/quotes.py SEED CONTACT > quotes.jsonl"""

import asyncio
import json
import sys

import lycosa

QUOTES = lycosa.Items({"text": "span.text", "author": "small.author::text", "tags": ["a.tag"]}, base="div.quote")


async def main(seed: str, contact: str) -> None:
    async for page in lycosa.crawl(seed, contact=contact, max_pages=100):
        for item in QUOTES.of(page):
            print(json.dumps({"url": page.url, **item}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
