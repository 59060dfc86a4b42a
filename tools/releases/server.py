"""Reads what each release of LMCache knows and keeps it as `crates/lmcache-server/data/releases.json`.

The file holds, each with the range of releases that know it: the options of `lmcache server` and of `lmcache
coordinator`, the types of second-tier adapters with the members that they require, serde types and eviction policies of
adapters. One line is one option in one shape, so that a new release shows as a few changed lines.
"""

from __future__ import annotations

import configparser
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .adapters import adapter_types, eviction_policies, serde_types
from .arguments import Argument, Method, Reader, command
from .behaviour import Behaviour
from .modules import Project, Sources
from .spans import runs, spans_of, to_range
from .wheels import ReadError, Wheel, final_releases, show

PROJECT = "lmcache"
SINCE = (0, 4, 1)
"""The first release with the multiprocess server in the form that can be rendered for."""
COMMANDS = "lmcache.cli.commands"
# The two first releases have the server but no `lmcache` command: `python3 -m` runs this module.
BARE_SERVER = "lmcache.v1.multiprocess.http_server"

Row = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """What one release knows. Rows are in the form of the JSON file, without their range."""

    commands: list[str]
    server: list[Row]
    coordinator: list[Row]
    adapters: list[Row]
    serdes: list[str]
    evictions: list[str]


def row_of(argument: Argument) -> Row:
    """An option as a line of the file; what is not said is argparse's default."""
    long = [option for option in argument.options if option.startswith("--")] or argument.options
    row: Row = {"flag": long[0]}
    others = [option for option in argument.options if option != long[0]]
    if others:
        row["also"] = others
    if argument.action != "store":
        row["action"] = argument.action
    if argument.action in {"store", "append"}:
        row["type"] = argument.type or "str"
    for name in ("nargs", "choices", "default"):
        value = getattr(argument, name)
        # A switch is off unless it is said to be on, and a list begins empty: that goes without saying.
        if value is not None and value != [] and not (value is False and argument.action == "store_true"):
            row[name] = value
    if argument.required:
        row["required"] = True
    if argument.hidden:
        row["hidden"] = True
    return row


def options(reader: Reader, method: Method) -> list[Row]:
    """All options of a command, sorted by name."""
    rows = sorted((row_of(argument) for argument in reader.follow(method)), key=lambda row: row["flag"])
    names = [name for row in rows for name in [row["flag"], *row.get("also", [])]]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ReadError(
            f"{reader.project.sources.label}: {', '.join(sorted(twice))} is added twice; extend arguments.py"
        )
    return rows


def has_script(sources: Sources) -> bool:
    """Whether the wheel installs a script of the name `lmcache`."""
    for name in sources.names():
        if name.endswith(".dist-info/entry_points.txt"):
            entries = configparser.ConfigParser(delimiters=("=",))
            entries.read_string(sources.text(name) or "")
            return entries.has_option("console_scripts", "lmcache")
    return False


def read_release(sources: Sources, version: str, behaviour: Behaviour) -> Known:
    """Reads one release. `behaviour` says what its sources do not tell."""
    project = Project(sources)
    found: dict[str, list[Row]] = {"server": [], "coordinator": []}
    commands = []
    for name in found:
        method = command(project, COMMANDS, name) if has_script(sources) else None
        if method is not None:
            commands.append(f"lmcache {name}")
        elif name == "server" and (bare := project.module(BARE_SERVER)) is not None and "parse_args" in bare.functions:
            commands.append(f"python3 -m {BARE_SERVER}")
            method = Method(bare, bare.functions["parse_args"])
        if method is not None:
            found[name] = options(Reader(project, behaviour.choices(name, version)), method)
    if not found["server"]:
        raise ReadError(f"{sources.label}: no server command was found; follow it to where it went, in server.py")
    adapters = []
    for adapter in adapter_types(project):
        required = behaviour.required(adapter.name, version)
        if required is None:
            if not adapter.readable:
                raise ReadError(
                    f"{sources.label}: what the adapter type {adapter.name} requires cannot be read in its from_dict; "
                    "say it in behaviour.toml under [[adapter]]"
                )
            required = list(adapter.required)
        adapters.append({"type": adapter.name, "required": required})
    return Known(
        commands, found["server"], found["coordinator"], adapters, serde_types(project), eviction_policies(project)
    )


def ranged(rows: Sequence[list[Row]], key: str, releases: Sequence[str]) -> list[Row]:
    """Rows with their ranges: by name, then by first release."""
    names = sorted({row[key] for known in rows for row in known})
    found = []
    for name in names:
        per_release = [next((json.dumps(row) for row in known if row[key] == name), None) for known in rows]
        for text, span in runs(per_release):
            row = json.loads(text)
            found.append({key: row.pop(key), "in": to_range(span, releases), **row})
    return found


def words(per_release: Sequence[list[str]], key: str, releases: Sequence[str]) -> list[Row]:
    """Plain words with their ranges."""
    known = sorted({word for release in per_release for word in release})
    return [{key: word, "in": to_range(span, releases)} for word in known for span in spans_of(word, per_release)]


def read(behaviour: Behaviour, today: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Reads every final release from the wheels on PyPI. Needs the network."""
    wheels: list[Wheel] = final_releases(PROJECT, SINCE)
    releases = [show(wheel.release) for wheel in wheels]
    behaviour.check(releases)
    known = []
    for wheel, version in zip(wheels, releases, strict=True):
        progress(f"reading {wheel.filename}")
        known.append(read_release(wheel.sources(), version, behaviour))
    return {
        "read_on": today,
        "releases": [
            {"release": version, "wheel": wheel.filename} for version, wheel in zip(releases, wheels, strict=True)
        ],
        "commands": words([each.commands for each in known], "command", releases),
        "server": ranged([each.server for each in known], "flag", releases),
        "coordinator": ranged([each.coordinator for each in known], "flag", releases),
        "adapters": ranged([each.adapters for each in known], "type", releases),
        "serdes": words([each.serdes for each in known], "type", releases),
        "evictions": words([each.evictions for each in known], "policy", releases),
    }


def to_text(data: dict[str, Any]) -> str:
    """The JSON file: one line for each element of each list."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join("    " + json.dumps(each, ensure_ascii=False) for each in value)
            parts.append(f"  {json.dumps(key)}: [\n{lines}\n  ]" if value else f"  {json.dumps(key)}: []")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(path: Path) -> dict[str, Any]:
    """The file as it was read last."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data
