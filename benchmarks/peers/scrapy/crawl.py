"""crawl.py SEEDS-FILE OUT-DIR CONCURRENCY: a plain Scrapy crawl of the seeds' hosts; keeps a gzip file a page."""

import gzip
import hashlib
import sys
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SEEDS, OUT, CONCURRENCY = Path(sys.argv[1]).read_text().split(), Path(sys.argv[2]), int(sys.argv[3])


class Peer(scrapy.Spider):
    name = "peer"
    allowed_domains = tuple({urlsplit(seed).hostname for seed in SEEDS})
    links = LinkExtractor()

    async def start(self):
        for seed in SEEDS:
            yield scrapy.Request(seed)

    def parse(self, response):
        name = hashlib.blake2b(response.url.encode(), digest_size=16).hexdigest()
        (OUT / f"{name}.gz").write_bytes(gzip.compress(response.body, 6))
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        # What its manual advises for crawls of many hosts.
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "LOG_LEVEL": "ERROR",
    }
)
process.crawl(Peer)
process.start()
