"""Runs of releases. A release is a position in the list of known releases, oldest first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

Span = tuple[int, int]
"""First and last position, both included."""

Range = list[str | None]
"""A span as it is written to JSON: first and last release; the last one is null while the newest release is in it."""


def runs(per_release: Sequence[T | None]) -> list[tuple[T, Span]]:
    """Neighbouring releases of equal value as one run; None means that the release has none. `[a, a, None, b]` gives
    `[(a, (0, 1)), (b, (3, 3))]`."""
    found: list[tuple[T, Span]] = []
    for position, value in enumerate(per_release):
        if value is None:
            continue
        if found and found[-1][0] == value and found[-1][1][1] == position - 1:
            found[-1] = (value, (found[-1][1][0], position))
        else:
            found.append((value, (position, position)))
    return found


def spans_of(word: T, per_release: Iterable[Iterable[T]]) -> list[Span]:
    """The runs of releases whose values hold `word`."""
    return [span for _, span in runs([True if word in words else None for words in per_release])]


def to_range(span: Span, releases: Sequence[str]) -> Range:
    """`(3, newest)` as `["0.4.4", null]`."""
    first, last = span
    return [releases[first], None if last == len(releases) - 1 else releases[last]]


def from_range(ends: Range, releases: Sequence[str]) -> Span:
    """The reverse of `to_range`; a release that is not in the list is a ValueError."""
    first, last = ends
    if first is None:
        raise ValueError("a range needs its first release")
    span = (releases.index(first), len(releases) - 1 if last is None else releases.index(last))
    if span[0] > span[1]:
        raise ValueError(f"{first} comes after {last}")
    return span
