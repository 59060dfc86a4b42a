"""Answers, for one release of lmcache, whether it accepts command lines.

    python3 -I -S serve.py <folder of the unpacked release>

Reads one JSON object a line, `{"id": 1, "command": "server", "args": ["--port", "5555"], "env": {"NAME": "value"}}`,
and answers each with one line, `{"id": 1, "outcome": "accepted", "message": ""}`. The outcomes are those of
`command.py`. With `"parsed": true` the answer also has `parsed`, what the parser made of the arguments. The first line
that it prints is `{"ready": true}`, or `{"ready": false, "message": ...}` where the release could not be loaded.
"""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from command import Release  # noqa: E402  (needs the path above: isolated mode leaves the script's own folder out)


def _as_json(value: Any) -> Any:
    """The value, or its text where JSON has none: nan and inf, and what a parser made of a text by itself."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (str, int, float, list, type(None))) else str(value)


def main() -> int:
    # What lmcache prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**members: object) -> None:
        answers.write(json.dumps(members) + "\n")
        answers.flush()

    try:
        release = Release(Path(sys.argv[1]))
    except BaseException as failure:
        answer(ready=False, message=f"{type(failure).__name__}: {failure}")
        return 1
    answer(ready=True)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        outcome = release.run(asked["command"], asked["args"], asked.get("env", {}))
        members: dict[str, Any] = {"id": asked["id"], "outcome": outcome.kind, "message": outcome.message}
        if asked.get("parsed"):
            members["parsed"] = {name: _as_json(value) for name, value in outcome.parsed.items() if name != "func"}
        answer(**members)
    return 0


if __name__ == "__main__":
    sys.exit(main())
