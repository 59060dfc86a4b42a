"""Loads `clients.toml`, the hand-kept part: what import statements do not show. Faults in it raise `ReadError`."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .clients_load import Package
from .spans import Span, from_range
from .wheels import ReadError

PATH = Path(__file__).with_name("clients.toml")
MEMBERS = {
    "module": str,
    "class": str,
    "keys": list,
    "flags": list,
    "not_sent": list,
    "own_connector": list,
    "asks": list,
}
UNDERSTOOD = {"lmcache", "why"}
OWN_CONNECTOR = {"vllm", "lmcache", "fits", "why"}
ASKS = {"fit", "module", "function", "ways"}


@dataclass(frozen=True)
class OwnConnector:
    """Whether the calls of vLLM's own connector fit a client."""

    vllm: Span
    lmcache: Span
    fits: bool
    why: str


@dataclass(frozen=True)
class Asks:
    """What a function of the client asks of vLLM, and the fit of a client that has no way to."""

    fit: str
    module: str
    function: str
    ways: list[dict[str, str]]

    def lacking(self, client: Package, vllm: Package) -> str | None:
        """What is missing: every way that this client knows is gone. None while one is left."""
        _, function = client.definition(self.module, self.function)
        if not isinstance(function, ast.FunctionDef):
            raise ReadError(f"{self.module} has no function {self.function} any more; see [[asks]] in clients.toml")
        gone = []
        for way in self.ways:
            if not _uses(function, way):
                continue
            if _there(vllm, way):
                return None
            gone.append(f"{way.get('import') or way.get('attribute')} is not in {way.get('from') or way.get('of')}")
        return f"{self.function}: {'; '.join(gone) or 'asks in none of the known ways'}"


class Seen:
    """The hand-kept file, for the releases that are read."""

    def __init__(self, content: dict[str, Any], vllm: Sequence[str], lmcache: Sequence[str]) -> None:
        for name, kind in MEMBERS.items():
            if not isinstance(content.get(name), kind):
                raise ReadError(f"clients.toml: {name}: expected a {kind.__name__}, found {content.get(name)!r}")
        known = [*MEMBERS, "understood"]
        if unknown := content.keys() - set(known):
            raise ReadError(f"clients.toml: {', '.join(sorted(unknown))}: expected only {', '.join(known)}")
        self.module: str = content["module"]
        self.connector: str = content["class"]
        self.keys: list[str] = content["keys"]
        self.flags: list[str] = content["flags"]
        self.not_sent: tuple[str, ...] = tuple(content["not_sent"])
        entries = [_checked(entry, UNDERSTOOD, "understood") for entry in content.get("understood", [])]
        self.understood: dict[str, str] = {entry["lmcache"]: entry["why"] for entry in entries}
        if unknown := self.understood.keys() - set(lmcache):
            raise ReadError(
                f"clients.toml: understood: {', '.join(sorted(unknown))}: expected one of {', '.join(lmcache)}"
            )
        self.asks = [Asks(**_checked(entry, ASKS, "asks")) for entry in content["asks"]]
        self.own = []
        for entry in content["own_connector"]:
            entry = _checked(entry, OWN_CONNECTOR, "own_connector")
            spans = {side: _span(entry[side], known) for side, known in (("vllm", vllm), ("lmcache", lmcache))}
            self.own.append(OwnConnector(**{**entry, **spans}))

    @classmethod
    def load(cls, vllm: Sequence[str], lmcache: Sequence[str]) -> Seen:
        """Reads the file."""
        return cls(tomllib.loads(PATH.read_text(encoding="utf-8")), vllm, lmcache)

    def own_connector(self, vllm: int, lmcache: int) -> OwnConnector | None:
        """What is known of vLLM's own connector beside a client, both as positions; None: nobody has looked."""
        found = [
            entry
            for entry in self.own
            if entry.vllm[0] <= vllm <= entry.vllm[1] and entry.lmcache[0] <= lmcache <= entry.lmcache[1]
        ]
        if len(found) > 1:
            raise ReadError(f"clients.toml: {len(found)} statements about one pair: {found}")
        return found[0] if found else None


def _checked(entry: dict[str, Any], members: set[str], kind: str) -> dict[str, Any]:
    if entry.keys() != members:
        raise ReadError(f"clients.toml: {kind} has {', '.join(sorted(entry))}; expected {', '.join(sorted(members))}")
    return entry


def _span(ends: list[str], known: Sequence[str]) -> Span:
    try:
        first, last = ends
        return from_range([first, last or None], known)
    except ValueError as error:
        raise ReadError(f"clients.toml: {ends}: {error}; expected two of {', '.join(known)}") from error


def _uses(function: ast.FunctionDef, way: dict[str, str]) -> bool:
    for node in ast.walk(function):
        match node:
            case ast.ImportFrom(module=module) if "import" in way and module == way["from"]:
                if any(alias.name == way["import"] for alias in node.names):
                    return True
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                if name == way.get("attribute"):
                    return True
    return False


def _there(vllm: Package, way: dict[str, str]) -> bool:
    if "import" in way:
        return vllm.has(way["from"]) and vllm.exports(way["from"]).has(way["import"])
    module, _, name = way["of"].rpartition(".")
    _, found = vllm.definition(module, name)
    return isinstance(found, ast.ClassDef) and any(
        isinstance(member, ast.FunctionDef) and member.name == way["attribute"] for member in found.body
    )
