"""Reads which LMCache clients work inside which vLLM, and keeps it as `crates/policy-kit/data/clients.json`.

For each pair of releases: which connector runs when ours is injected (`clients_vllm`), and whether it loads there
(`clients_load`). What that does not show is kept by hand in `clients.toml` (`clients_seen`). Beside the pairs: which
releases of LMCache understand each other (`clients_wire`), since when a client reads the members of
`kv_connector_extra_config` that we write, and which releases of vLLM know the flags that we set.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import clients_rust
from .clients_load import ImportFails, Loader, Package, Undecided
from .clients_seen import Seen
from .clients_vllm import OWN_CONNECTORS, flags, module_path_wins, own_connector
from .clients_wire import Request, Unreadable, differences, requests
from .server import to_text
from .spans import runs, spans_of, to_range
from .wheels import ReadError, Wheel, final_releases, show

# Older releases of vLLM have no connector interface that any of these clients knows.
VLLM_SINCE = (0, 11, 0)
# The first client of the multiprocess server.
LMCACHE_SINCE = (0, 4, 1)

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "crates" / "policy-kit" / "data" / "clients.json"
TABLE = ROOT / "crates" / "policy-kit" / "src" / "pod" / "compatibility" / "table.rs"

Row = dict[str, Any]
Progress = Callable[[str], None]


class Pairs:
    """The verdicts on all pairs of releases."""

    def __init__(self, seen: Seen, vllm: dict[str, Package], lmcache: dict[str, Package]) -> None:
        self.seen = seen
        self.vllm = vllm
        self.lmcache = lmcache
        self.wins = [module_path_wins(package) for package in vllm.values()]
        self.own = [own_connector(package, seen.connector) for package in vllm.values()]

    def fit(self, vllm: int, lmcache: int) -> tuple[str, str]:
        """The fit of one pair, both as positions, and why: one of `clients_rust.FITS`."""
        module = self.own[vllm]
        if module is None or self.wins[vllm]:
            return self._injected(vllm, lmcache)
        failure = self._failure(module, vllm, lmcache)
        if failure is not None:
            return "own-connector-fails", str(failure)
        statement = self.seen.own_connector(vllm, lmcache)
        if statement is None:
            raise ReadError(
                f"vLLM {self._name(self.vllm, vllm)} runs its own connector and loads beside LMCache "
                f"{self._name(self.lmcache, lmcache)}: compare its calls with the client's adapters, and write what is so "
                "into clients.toml, [[own_connector]]"
            )
        return "own-connector" if statement.fits else "own-connector-fails", statement.why

    def _injected(self, vllm: int, lmcache: int) -> tuple[str, str]:
        """The connector that we inject."""
        failure = self._failure(self.seen.module, vllm, lmcache)
        if failure is not None:
            there = self._package(self.lmcache, lmcache).has(self.seen.module)
            return "does-not-load" if there else "no-module", str(failure)
        for asks in self.seen.asks:
            lacking = asks.lacking(self._package(self.lmcache, lmcache), self._package(self.vllm, vllm))
            if lacking is not None:
                return asks.fit, lacking
        return "loads", ""

    def _failure(self, module: str, vllm: int, lmcache: int) -> ImportFails | None:
        packages = {"vllm": self._package(self.vllm, vllm), "lmcache": self._package(self.lmcache, lmcache)}
        # Of vLLM only its own connectors to LMCache are followed: the rest of it loads, with or without LMCache.
        loader = Loader(packages, lambda name: name.startswith(("lmcache", f"{OWN_CONNECTORS}.lmcache")))
        try:
            loader.name(module, self.seen.connector)
        except ImportFails as failure:
            return failure
        except Undecided as undecided:
            raise ReadError(
                f"vLLM {self._name(self.vllm, vllm)}, LMCache {self._name(self.lmcache, lmcache)}: {undecided}: "
                "which branch is taken cannot be read; teach clients_load.py that condition"
            ) from undecided
        return None

    @staticmethod
    def _package(packages: dict[str, Package], position: int) -> Package:
        return list(packages.values())[position]

    @staticmethod
    def _name(packages: dict[str, Package], position: int) -> str:
        return list(packages)[position]

    def rows(self, progress: Progress) -> list[Row]:
        """All pairs: neighbouring releases of vLLM with equal columns as one, in them neighbouring clients."""
        releases, clients = list(self.vllm), list(self.lmcache)
        columns = []
        for vllm, name in enumerate(releases):
            progress(f"comparing vLLM {name} with LMCache {clients[0]} to {clients[-1]}")
            columns.append(tuple(self.fit(vllm, lmcache) for lmcache in range(len(clients))))
        found = []
        for column, span in runs(columns):
            for (fit, why), client_span in runs(column):
                row = {"vllm": to_range(span, releases), "lmcache": to_range(client_span, clients), "fit": fit}
                found.append({**row, "why": why} if why else row)
        return found


def keys(package: Package, module: str) -> set[str]:
    """The members of `kv_connector_extra_config` that a client reads; none where it has no such module."""
    found = set()
    for node in ast.walk(ast.Module(package.statements(module) or [], [])):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("lmcache.mp."):
            found.add(node.value)
    # Most of them have their default in a class, under their last name.
    defaults, _, _ = module.rpartition(".")
    _, table = package.definition(f"{defaults}.vllm_multi_process_adapter", "ExtraConfigDefault")
    if package.has(module) and isinstance(table, ast.ClassDef):
        for statement in table.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(f"lmcache.mp.{name}")
    return found


def wire_groups(lmcache: dict[str, Package], seen: Seen) -> list[Row]:
    """Runs of releases whose client and server understand each other, with what changed since the run before."""
    releases = list(lmcache)
    changes: list[list[str]] = []
    older: dict[str, Request] = {}
    for name, package in lmcache.items():
        try:
            known = requests(package)
        except Unreadable as error:
            raise ReadError(f"LMCache {name}: {error}; extend clients_wire.py") from error
        changes.append(differences(older, known, seen.not_sent))
        older = known
    starts = [at for at, name in enumerate(releases) if at == 0 or (changes[at] and name not in seen.understood)]
    ends = [*(start - 1 for start in starts[1:]), len(releases) - 1]
    return [
        {"lmcache": to_range((first, last), releases), "changed": changes[first]} for first, last in zip(starts, ends)
    ]


def first_of(word: str, per_release: Sequence[set[str]], releases: Sequence[str], what: str) -> str:
    """The first release that knows a word, which must not be forgotten later."""
    spans = spans_of(word, per_release)
    if len(spans) != 1 or spans[0][1] != len(releases) - 1:
        raise ReadError(
            f"{what} {word} is known in {[to_range(span, releases) for span in spans]}; expected: from one release on"
        )
    return releases[spans[0][0]]


def packages(wheels: Sequence[Wheel]) -> dict[str, Package]:
    """The releases by name, oldest first."""
    return {show(wheel.release): Package(wheel.sources()) for wheel in wheels}


def collect(today: str, progress: Progress) -> Row:
    """Reads everything. Needs the network."""
    vllm_wheels, lmcache_wheels = final_releases("vllm", VLLM_SINCE), final_releases("lmcache", LMCACHE_SINCE)
    vllm, lmcache = packages(vllm_wheels), packages(lmcache_wheels)
    releases, clients = list(vllm), list(lmcache)
    seen = Seen.load(releases, clients)
    pairs = Pairs(seen, vllm, lmcache)
    known_flags = []
    for name, package in vllm.items():
        progress(f"reading the flags of vLLM {name}")
        known_flags.append(flags(package))
    known_keys = [keys(package, seen.module) for package in lmcache.values()]
    return {
        "read_on": today,
        "connector": f"{seen.module}.{seen.connector}",
        "vllm": [{"release": name, "wheel": wheel.filename} for name, wheel in zip(releases, vllm_wheels)],
        "lmcache": [{"release": name, "wheel": wheel.filename} for name, wheel in zip(clients, lmcache_wheels)],
        "module_path": [
            {"vllm": to_range(span, releases), "own_connector": own, "path_wins": wins}
            for (own, wins), span in runs([(own is not None, wins) for own, wins in zip(pairs.own, pairs.wins)])
        ],
        "pairs": pairs.rows(progress),
        "wire": wire_groups(lmcache, seen),
        "keys": [{"key": key, "first": first_of(key, known_keys, clients, "key")} for key in seen.keys],
        "flags": [
            {"flag": flag, "vllm": to_range(span, releases)}
            for flag in seen.flags
            for span in spans_of(flag, known_flags)
        ],
    }


def read(today: str, progress: Progress) -> None:
    """Reads the releases of vLLM and LMCache into `DATA`."""
    data = collect(today, progress)
    if DATA.is_file():
        old = json.loads(DATA.read_text(encoding="utf-8"))
        if {**old, "read_on": today} == data:
            progress(f"{DATA.relative_to(ROOT)}: nothing new")
            return
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text(to_text(data), encoding="utf-8")
    progress(f"{DATA.relative_to(ROOT)}: written")


def write() -> list[Path]:
    """Makes the Rust table. Needs no network."""
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(clients_rust.render(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
    return [TABLE]
