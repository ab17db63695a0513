"""crawl.py SEEDS-FILE OUT-DIR CONCURRENCY CA-FILE: Crawlee's Parsel crawler on the seeds' hosts; a gzip file a page."""

import asyncio
import gzip
import hashlib
import logging
import os
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import HttpxHttpClient
from crawlee.storage_clients import MemoryStorageClient

SEEDS, OUT, CONCURRENCY = Path(sys.argv[1]).read_text().split(), Path(sys.argv[2]), int(sys.argv[3])
AUTHORITY = sys.argv[4] if len(sys.argv) > 4 else ""


async def main() -> None:
    if AUTHORITY:
        os.environ["SSL_CERT_FILE"] = AUTHORITY
    crawler = ParselCrawler(
        configuration=Configuration(log_level="ERROR"),
        storage_client=MemoryStorageClient(),
        http_client=HttpxHttpClient(verify=AUTHORITY or True, http2=False),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=CONCURRENCY, desired_concurrency=CONCURRENCY, max_concurrency=CONCURRENCY
        ),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        max_request_retries=0,
        statistics_log_format="inline",
        request_handler_timeout=timedelta(minutes=2),
        configure_logging=False,
    )
    logging.disable(logging.WARNING)

    @crawler.router.default_handler
    async def keep(context: ParselCrawlingContext) -> None:
        body = await context.http_response.read()
        name = hashlib.blake2b(context.request.url.encode(), digest_size=16).hexdigest()
        (OUT / f"{name}.gz").write_bytes(gzip.compress(body, 6))
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run(SEEDS)


asyncio.run(main())
