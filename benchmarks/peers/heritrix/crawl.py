"""crawl.py SEEDS-FILE OUT-DIR CONCURRENCY: a Heritrix job from its own profile, without delays; WARC files.

Everything that differs from the profile is in OVERRIDES. The process becomes Java's.
"""

import os
import re
import sys
import zipfile
from pathlib import Path

SEEDS, OUT, CONCURRENCY = Path(sys.argv[1]).read_text(), Path(sys.argv[2]), sys.argv[3]
HERE = Path(__file__).parent
PROFILE = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
OVERRIDES = f"""
crawlController.maxToeThreads={CONCURRENCY}
disposition.delayFactor=0
disposition.minDelayMs=0
disposition.maxDelayMs=0
disposition.respectCrawlDelayUpToSeconds=0
"""

engine = next(HERE.glob("lib/heritrix-engine-*.jar"))
with zipfile.ZipFile(engine) as jar:
    profile = jar.read(PROFILE).decode()
contact = next(line for line in profile.splitlines() if line.startswith("metadata.operatorContactUrl="))
profile = profile.replace(contact, f"metadata.operatorContactUrl=https://example.org/about{OVERRIDES}")
profile = profile.replace("http://example.example/example", SEEDS)
# The profile also fetches what pages embed from other hosts; the scope here is the seeds' hosts.
profile = re.sub(r"<bean class=\"[\w.]+TransclusionDecideRule\">.*?</bean>", "", profile, flags=re.S)
job = OUT / "jobs/peer"
job.mkdir(parents=True)
(job / "crawler-beans.cxml").write_text(profile)
os.chdir(OUT)
jars = f"{HERE}/lib/*"
os.execvp(
    "java",
    ["java", "-Xmx1g", "-cp", jars, "org.archive.crawler.Heritrix", "-a", "peer:peer", "-p", "0", "-r", "peer"],
)
