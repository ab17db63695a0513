"""`lycosa forget`: remove a page or a host, for its owner or the law, and see to it that it does not come back.

In this order, so that a crash loses nothing that others need and running again ends what was begun: the index goes;
bodies that other URLs share are written again under those; one batch changes the store and records what is left to do;
the bytes in WARC files are overwritten; tables and ranks are written again without the rows; the record of what is left
to do goes; the index is built anew from those tables.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import click

import lycosa
from lycosa.backends import warc_erase
from lycosa.backends.layout import RANKS, RECORDS, TABLES, WARCS, shard_name
from lycosa.backends.parquet_feed import flush_feed
from lycosa.backends.rank_progress import alone
from lycosa.backends.ranks import forget_ranks
from lycosa.backends.rocks import RocksStore
from lycosa.backends.warc import Original, WarcWriter
from lycosa.backends.warc_check import repair, warc_files
from lycosa.backends.warc_read import Group
from lycosa.cli.forget_tables import TableCleaner
from lycosa.cli.opened import existing_stores, host_name, in_directory, settings_of, store_of, written
from lycosa.cli.options import as_json, printable
from lycosa.crawl.claims import Claim
from lycosa.crawl.forget import Forgetting, Intention, Moved, Span, Target, finished, unfinished, without
from lycosa.crawl.outbox import rewritten
from lycosa.crawl.places import owner_of_row
from lycosa.crawl.seen import added_to_log
from lycosa.errors import BadUrl
from lycosa.kit.keys import host_key
from lycosa.web.url import Normaliser, cut

_CLAIM_FORMAT = 1


@click.command()
@in_directory
@click.argument("what", metavar="URL-or-HOST")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@as_json
def forget(directory: Path, what: str, yes: bool, as_json: bool) -> None:
    """Remove a page or a whole host, and never fetch it again.

    Bodies are overwritten, rows of tables go, and the URL or the host is refused from then on. A body that other URLs
    have as well is kept for them. Not while a crawl runs here.
    """
    existing_stores(directory)
    settings = settings_of(directory)
    normal = Normaliser(settings.urls.tracking, settings.urls.session)
    is_url = "://" in what
    target = Target(url=normal(what)) if is_url else Target(host=host_name(what))
    if not yes:
        click.confirm(f"Forget {printable(target.name)}? This cannot be undone", abort=True, err=True)
    has_index = (directory / "index").is_dir()
    # A ranking that began before would bring back what is forgotten.
    ranks = directory / RANKS
    with alone(ranks) if ranks.is_dir() else contextlib.nullcontext(), written(directory) as stores:
        # Documents that are deleted stay in the files of an index until those are merged: so all of it goes.
        if has_index:
            from lycosa.indexing import drop_index  # here, as only directories with an index need all that

            drop_index(directory)
        done = _Eraser(directory, stores, normal).forget(target)
    if has_index:
        from lycosa.indexing import rebuild_index

        rebuild_index(directory)
    if as_json:
        click.echo(json.dumps({"forgotten": target.name, **done._asdict()}))
        return
    click.echo(
        f"forgotten: {done.urls:,} URLs, {done.records:,} stored visits, {done.rows:,} rows of tables; "
        f"{done.kept:,} visits of others written again"
    )


class Done(NamedTuple):
    urls: int
    records: int  # visits overwritten
    rows: int  # of tables
    kept: int  # visits of others that shared a body


class _Found(NamedTuple):
    """What is to go, and who depends on it."""

    doomed: list[Span]
    bodies: dict[tuple[str, str], tuple[Span, int]]  # by URL and date: where, and the offset of the answer
    orphans: list[tuple[Span, tuple[str, str]]]  # visits of others, and whose body they refer to


class _Eraser:
    def __init__(self, directory: Path, stores: list[RocksStore], normal: Normaliser) -> None:
        self._warcs = directory / WARCS
        self._tables = directory / TABLES
        self._directory = directory
        self._records = directory / RECORDS
        self._ranks = directory / RANKS
        self._stores = stores
        self._store = store_of(stores)
        self._normal = normal

    def forget(self, target: Target) -> Done:
        begun = unfinished(self._store)
        if begun is not None:
            self._finish(begun)
        self._flush()
        if self._warcs.is_dir():
            repair(self._warcs)  # a visit that a crash has torn is in no group that could be found and erased
        found = self._find(target)
        self._clean_outboxes(target, found)
        change = Forgetting(self._store, target)
        change.drop_rows()
        for key in change.unmet:
            home = self._stores[owner_of_row("urls", key, len(self._stores)) or 0]
            home.write(added_to_log(home, [key]))
        moved, claims = self._keep_for_others(found)
        change.drop_claims({(span.file, offset): claims.get(key) for key, (span, offset) in found.bodies.items()})
        change.drop_fingerprints()
        change.point_anew(moved, {url: claim.url for (url, _), claim in claims.items()})
        spans = [*found.doomed, *(span for span, key in found.orphans if key in found.bodies)]
        intention = Intention(target, spans, moved)
        change.write(intention, self._store.sync)
        rows = self._finish(intention)
        return Done(len(change.keys), len(found.doomed), rows, len(moved))

    def _flush(self) -> None:
        """Let all rows be in files, where they can be dealt with."""
        for number, store in enumerate(self._stores):
            flush_feed(self._directory, shard_name(number), store)

    def _clean_outboxes(self, target: Target, found: _Found) -> None:
        """What shards have for each other, some of which is sent again when they start, does not bring it back."""
        places = {(span.file, offset) for span, offset in found.bodies.values()}
        for store in self._stores:
            store.write(rewritten(store, lambda each: without(target, each, lambda c: (c.file, c.offset) in places)))

    # -- finding -------------------------------------------------------------------------------------------------------

    def _find(self, target: Target) -> _Found:
        found = _Found([], {}, [])
        for path in warc_files(self._warcs):
            for group in warc_erase.visits_in(path):
                if not warc_erase.is_erased(group):
                    self._sort(target, path, group, found)
        return found

    def _sort(self, target: Target, path: Path, group: Group, found: _Found) -> None:
        span = Span(path.name, group.start, warc_erase.lengths_of(group))
        fields = group.answer.fields
        url = self._normal_of(fields.get("warc-target-uri", ""))
        if url and target.covers(url):
            found.doomed.append(span)
            if group.answer.kind == "response":
                key = (url, fields.get("warc-date", ""))
                found.bodies[key] = (span, group.answer.offset)
        elif group.answer.kind == "revisit":
            first = self._normal_of(fields.get("warc-refers-to-target-uri", ""))
            if first and target.covers(first):
                found.orphans.append((span, (first, fields.get("warc-refers-to-date", ""))))

    def _normal_of(self, url: str) -> str:
        try:
            return self._normal(url)
        except BadUrl:
            return ""

    # -- what others need ----------------------------------------------------------------------------------------------

    def _keep_for_others(self, found: _Found) -> tuple[list[Moved], dict[tuple[str, str], Claim]]:
        """Write visits again whose body is about to go: the first with the body, the others as revisits of it."""
        moved: list[Moved] = []
        claims: dict[tuple[str, str], Claim] = {}
        about = {"software": f"Lycosa/{lycosa.__version__}", "description": "visits written again by lycosa forget"}
        writer = WarcWriter(self._warcs, "lycosa", about)
        try:
            for span, key in found.orphans:
                if key in found.bodies:
                    moved.append(self._write_again(writer, span, key, found, claims))
        finally:
            writer.close()
        return moved, claims

    def _write_again(
        self, writer: WarcWriter, span: Span, key: tuple[str, str], found: _Found, claims: dict[tuple[str, str], Claim]
    ) -> Moved:
        body = found.bodies[key][0]
        payload = warc_erase.read_group(self._warcs / body.file, body.start).answer.payload
        group = warc_erase.read_group(self._warcs / span.file, span.start)
        claim = claims.get(key)
        original = Original(claim.url, claim.date, claim.payload_digest, claim.coding) if claim is not None else None
        kept = warc_erase.write_again(writer, group, payload, original)
        url, place, first = self._normal(kept.url), kept.written.location, kept.written.original
        if claim is None:
            claims[key] = Claim(
                _CLAIM_FORMAT, first.url, first.date, first.payload_digest, first.coding, place.file, place.offset,
                place.length,
            )  # fmt: skip
        alias_of = "" if claim is None else self._normal(claim.url)
        offset = span.start + span.lengths[0]
        return Moved(url, span.file, offset, place.file, place.offset, place.length, alias_of)

    # -- erasing -------------------------------------------------------------------------------------------------------

    def _finish(self, intention: Intention) -> int:
        """Erase the bytes and the rows; the number of rows."""
        files: dict[str, list[Span]] = {}
        for span in intention.spans:
            files.setdefault(span.file, []).append(span)
        for name, spans in files.items():
            warc_erase.erase(self._warcs / name, [(span.start, span.lengths) for span in spans])
        target = intention.target
        rows = TableCleaner(self._tables, intention, lambda url: target.covers(self._normal_of(url))).clean()
        rows += sum(self._clean_records(path, target) for path in self._records.glob("*.jsonl"))
        self._forget_ranks(target)
        self._store.write([finished()])
        self._store.sync()
        return rows

    def _forget_ranks(self, target: Target) -> None:
        if target.host:
            forget_ranks(self._ranks, host=host_key(target.host))
        else:
            forget_ranks(self._ranks, cut(target.url).key())

    def _clean_records(self, path: Path, target: Target) -> int:
        """Write a file of records again without the lines that come from what is forgotten; how many those are."""
        gone, written = 0, path.with_name(f".{path.name}.part")
        with path.open("rb") as old, written.open("wb") as new:
            for line in old:
                is_gone = self._is_from(line, target)
                gone += is_gone
                new.write(b"" if is_gone else line)
            new.flush()
            os.fsync(new.fileno())
        written.replace(path)
        return gone

    def _is_from(self, line: bytes, target: Target) -> bool:
        try:
            url = json.loads(line)["url"]
        except (ValueError, KeyError, TypeError):
            return False
        return target.covers(self._normal_of(str(url)))
