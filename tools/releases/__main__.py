"""`python3 tools/releases read` reads the released packages, `python3 tools/releases write` makes the Rust tables."""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __package__ in (None, ""):
    # Started as a folder: make it the package that its modules say they are.
    sys.path[0] = str(HERE.parent)
    __package__ = "releases"

from releases import rust, server  # noqa: E402  # after the path is set
from releases.behaviour import Behaviour  # noqa: E402
from releases.wheels import ReadError, parse_final  # noqa: E402

ROOT = HERE.parent.parent
DATA = ROOT / "crates" / "lmcache-server" / "data" / "releases.json"
TABLE = ROOT / "crates" / "lmcache-server" / "src" / "table" / "data.rs"


def read_server(today: str, progress: Callable[[str], None]) -> None:
    """Reads LMCache's releases into `DATA`."""
    behaviour = Behaviour.load()
    data = server.read(behaviour, today, progress)
    text = server.to_text(data)
    if DATA.is_file() and same_but_date(text, DATA.read_text(encoding="utf-8")):
        progress(f"{DATA.relative_to(ROOT)}: nothing new")
        return
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text(text, encoding="utf-8")
    progress(f"{DATA.relative_to(ROOT)}: written")
    newest = data["releases"][-1]["release"]
    if (parse_final(newest) or ((), 0))[0] > (parse_final(behaviour.newest_seen) or ((), 0))[0]:
        progress(
            f"nobody has started {newest} yet: behaviour.toml describes {behaviour.newest_seen}, and the tables take "
            f"{newest} to behave likewise. See README.md, A new release"
        )


def same_but_date(one: str, other: str) -> bool:
    """Whether two data files differ in nothing but the day on which they were read."""

    def undated(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith('  "read_on":')]

    return undated(one) == undated(other)


def write_server() -> list[Path]:
    """Makes the Rust table of LMCache's releases."""
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(rust.render(server.load(DATA), Behaviour.load()), encoding="utf-8")
    return [TABLE]


def main(arguments: list[str]) -> int:
    """Runs one command; 1 when something could not be read."""
    parser = argparse.ArgumentParser(prog="python3 tools/releases", description=__doc__)
    parser.add_argument("command", choices=["read", "write"], help="read: needs PyPI; write: offline")
    parser.add_argument("table", nargs="?", choices=["server", "clients"], help="only this table (default: all)")
    chosen = parser.parse_args(arguments)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        for table in [chosen.table] if chosen.table else ["server", "clients"]:
            if table == "server":
                readers, writers = read_server, write_server
            else:
                clients = importlib.import_module("releases.clients")
                readers, writers = clients.read, clients.write
            if chosen.command == "read":
                readers(today, lambda line: print(line, file=sys.stderr))
            else:
                for path in writers():
                    print(path.relative_to(ROOT))
    except ReadError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
