"""crawl.py SEEDS-FILE OUT-DIR CONCURRENCY: one BUbiNG agent without delays; WARC files. It never ends by itself.

Caches are small, for the crawl is; everything else is as its manual has it. The process becomes Java's.
"""

import os
import sys
from pathlib import Path

SEEDS, OUT, CONCURRENCY = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
HERE = Path(__file__).parent
SCOPE = "URLMatchesRegex(https?://127[.][12][.].*)"
JMX_PORT = 8291  # it refuses to start without
SETTINGS = {
    "rootDir": OUT / "crawl",
    "seed": f"file:{SEEDS}",
    "fetchFilter": SCOPE,
    "scheduleFilter": SCOPE,
    "followFilter": "true",
    "parseFilter": "ContentTypeStartsWith(text/)",
    "storeFilter": "true",
    "parserSpec": "it.unimi.di.law.bubing.parser.HTMLParser(MurmurHash3)",
    "digestAlgorithm": "MurmurHash3",
    "fetchingThreads": CONCURRENCY,
    "parsingThreads": 2,
    "dnsThreads": 4,
    "schemeAuthorityDelay": "0ms",
    "ipDelay": "0ms",
    "ipDelayFactor": 0,
    "keepAliveTime": "1s",
    "maxUrls": 10_000_000,
    "maxUrlsPerSchemeAuthority": 10_000_000,
    "bloomFilterPrecision": "1E-8",
    "socketTimeout": "60s",
    "connectionTimeout": "60s",
    "fetchDataBufferByteSize": "200K",
    "responseBodyMaxByteSize": "20M",
    "cookiePolicy": "ignoreCookies",
    "cookieMaxByteSize": 2000,
    "userAgent": "bubing-peer",
    "userAgentFrom": "nobody@example.org",
    "robotsExpiration": "1h",
    "acceptAllCertificates": "true",
    "startPaused": "false",
    "workbenchMaxByteSize": "128Mi",
    "virtualizerMaxByteSize": "64Mi",
    "urlCacheMaxByteSize": "64Mi",
    "sieveSize": "64Ki",
    "dnsCacheMaxSize": 10_000,
    "dnsPositiveTtl": "1h",
    "dnsNegativeTtl": "1m",
    "spamDetectionThreshold": 1_000_000_000,
    "spamDetectionPeriodicity": 1_000_000_000,
}
JMX = {"port": JMX_PORT, "host": "127.0.0.1", "authenticate": "false", "ssl": "false"}

settings = OUT / "settings.properties"
settings.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
command = ["java", "-Xmx1g", "-Djava.net.preferIPv4Stack=true", f"-Dlogback.configurationFile={HERE}/logback.xml"]
command += [f"-Dcom.sun.management.jmxremote.{name}={value}" for name, value in JMX.items()]
# It is older than the walls between the modules of Java.
command += [f"--add-opens=java.base/{part}=ALL-UNNAMED" for part in ("java.lang", "java.util", "java.net", "java.nio")]
command += ["-cp", f"{HERE}/lib/*", "it.unimi.di.law.bubing.Agent"]
os.chdir(OUT)
os.execvp("java", [*command, "-h", "127.0.0.1", "-P", str(settings), "-g", "peer", "-n", "peer"])
