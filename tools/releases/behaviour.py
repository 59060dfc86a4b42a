"""Loads `behaviour.toml`, the hand-kept part: what a running process shows and its sources do not tell plainly."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .spans import Span, from_range
from .wheels import ReadError, parse_final

PATH = Path(__file__).with_name("behaviour.toml")
NAME = re.compile(r"[a-z][a-z0-9_]*")
MEMBERS = {
    "words": {"doc", "rows"},
    "span": {"doc", "first", "last"},
    "adapter": {"type", "required", "first", "last"},
    "need": {"type", "members", "unless_member", "unless_env", "backends", "first", "last"},
    "choices": {"command", "flag", "words", "first", "last"},
}
LISTS = ("adapter", "need", "choices")
CONDITIONS = {"unless_member", "unless_env", "backends"}


@dataclass(frozen=True)
class Words:
    """A word that depends on the release, such as a path."""

    name: str
    doc: str
    rows: list[tuple[str, Span]]


@dataclass(frozen=True)
class Fact:
    """A run of releases that do something."""

    name: str
    doc: str
    span: Span


@dataclass(frozen=True)
class Need:
    """A member that an adapter type requires under a condition, or below another member."""

    adapter: str
    member: str
    span: Span
    condition: str
    """`unless_member`, `unless_env`, `backends` or nothing: always."""
    words: list[str]


class Behaviour:
    """The hand-kept file. Faults in it raise `ReadError` with the place."""

    def __init__(self, content: dict[str, Any], label: str = "behaviour.toml") -> None:
        self._content = content
        self._label = label
        unknown = set(content) - {"newest_seen", *MEMBERS}
        if unknown or "newest_seen" not in content:
            raise ReadError(
                f"{label}: expected newest_seen and {', '.join(MEMBERS)}; found {', '.join(sorted(content))}"
            )
        for kind in ("words", "span"):
            for name, entry in content.get(kind, {}).items():
                if not NAME.fullmatch(name):
                    raise ReadError(f"{label}: {kind}.{name}: a name is made of small letters, digits and _")
                self._check_members(kind, f"{kind}.{name}", entry)
        for kind in LISTS:
            for number, entry in enumerate(content.get(kind, []), 1):
                self._check_members(kind, f"{kind} #{number}", entry)
                if len(CONDITIONS & set(entry)) > 1:
                    raise ReadError(f"{label}: {kind} #{number}: one of {', '.join(sorted(CONDITIONS))} at most")

    @classmethod
    def load(cls, path: Path = PATH) -> Behaviour:
        """Reads the file."""
        return cls(tomllib.loads(path.read_text(encoding="utf-8")), path.name)

    def _check_members(self, kind: str, place: str, entry: dict[str, Any]) -> None:
        needed = MEMBERS[kind] - {"first", "last"} - CONDITIONS
        if not needed <= set(entry) <= MEMBERS[kind]:
            raise ReadError(
                f"{self._label}: {place}: has {', '.join(sorted(entry))}; expected {', '.join(sorted(MEMBERS[kind]))}"
            )

    def _span(self, place: str, entry: dict[str, Any], releases: Sequence[str]) -> Span:
        try:
            return from_range([entry.get("first", releases[0]), entry.get("last")], releases)
        except ValueError as error:
            raise ReadError(f"{self._label}: {place}: {error}; the releases are {', '.join(releases)}") from error

    @property
    def newest_seen(self) -> str:
        """The newest release that was started and looked at."""
        return str(self._content["newest_seen"])

    def check(self, releases: Sequence[str]) -> None:
        """Raises for a range that names a release which is not in the list."""
        self.words(releases)
        self.facts(releases)
        for kind in LISTS:
            for number, entry in enumerate(self._content.get(kind, []), 1):
                self._span(f"{kind} #{number}", entry, releases)

    def words(self, releases: Sequence[str]) -> list[Words]:
        """Every table of words; its ranges must not overlap."""
        found = []
        for name, entry in sorted(self._content.get("words", {}).items()):
            rows = [(row["text"], self._span(f"words.{name}", row, releases)) for row in entry["rows"]]
            if any(before[1][1] >= after[1][0] for before, after in itertools.pairwise(rows)):
                raise ReadError(f"{self._label}: words.{name}: ranges overlap or are out of order")
            found.append(Words(name, entry["doc"], rows))
        return found

    def facts(self, releases: Sequence[str]) -> list[Fact]:
        """Every run of releases."""
        return [
            Fact(name, entry["doc"], self._span(f"span.{name}", entry, releases))
            for name, entry in sorted(self._content.get("span", {}).items())
        ]

    def required(self, adapter: str, version: str) -> list[str] | None:
        """The members that an adapter type requires in a release, where the file says them."""
        for entry in self._content.get("adapter", []):
            if entry["type"] == adapter and _within(entry, version):
                return list(entry["required"])
        return None

    def needs(self, releases: Sequence[str]) -> list[Need]:
        """Members that are required under a condition, sorted by adapter."""
        found = []
        for number, entry in enumerate(self._content.get("need", []), 1):
            span = self._span(f"need #{number}", entry, releases)
            condition = next(iter(CONDITIONS & set(entry)), "")
            words = entry.get(condition, [])
            for member in entry["members"]:
                found.append(Need(entry["type"], member, span, condition, [words] if isinstance(words, str) else words))
        return sorted(found, key=lambda need: need.adapter)

    def choices(self, command: str, version: str) -> dict[str, list[str]]:
        """The choices of options of a command in a release, where the file says them: option -> words."""
        return {
            entry["flag"]: list(entry["words"])
            for entry in self._content.get("choices", [])
            if entry["command"] == command and _within(entry, version)
        }


def _within(entry: dict[str, Any], version: str) -> bool:
    first, last = entry.get("first", "0"), entry.get("last")
    return _number(first) <= _number(version) and (last is None or _number(version) <= _number(last))


def _number(version: str) -> tuple[int, ...]:
    parsed = parse_final(version)
    if parsed is None:
        raise ReadError(f"{version} is no final release")
    return parsed[0]
