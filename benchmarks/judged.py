"""A judged collection: documents, queries, and which documents answer which query how well."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Document(NamedTuple):
    id: str
    title: str
    text: str


class Collection(NamedTuple):
    name: str
    documents: list[Document]
    queries: dict[str, str]  # those that are judged
    grades: dict[str, dict[str, int]]  # query, document


class Quality(NamedTuple):
    ndcg_10: float
    recall_100: float
    queries: int


def read_collection(folder: Path) -> Collection:
    """`docs.jsonl` (id, title, text), `queries.jsonl` (id, text), `qrels.tsv` (query, document, grade)."""
    documents = [
        Document(str(row["id"]), row.get("title") or "", row.get("text") or "")
        for row in map(json.loads, (folder / "docs.jsonl").read_text().splitlines())
    ]
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines():
        query, document, grade = line.split("\t")[:3]
        if grade.lstrip("-").isdigit() and int(grade) > 0:
            grades.setdefault(query, {})[document] = int(grade)
    asked = map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
    queries = {str(row["id"]): row["text"] for row in asked if str(row["id"]) in grades}
    return Collection(folder.name, documents, queries, grades)


def measure(collection: Collection, answer: Callable[[str], Sequence[str]]) -> Quality:
    """`answer` gives the documents for a query, best first; a hundred are enough."""
    gains, recalls = [], []
    for query, text in collection.queries.items():
        grades, found = collection.grades[query], answer(text)
        ideal = _gain(sorted(grades.values(), reverse=True)[:10])
        gains.append(_gain([grades.get(document, 0) for document in found[:10]]) / ideal)
        recalls.append(len(grades.keys() & set(found[:100])) / len(grades))
    count = len(collection.queries)
    return Quality(sum(gains) / count, sum(recalls) / count, count)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))
