"""Ranges of releases, the data file and the Rust that is made from it."""

from __future__ import annotations

import json
import unittest

from releases import rust, server
from releases.__main__ import DATA, TABLE, same_but_date
from releases.arguments import Argument
from releases.behaviour import Behaviour
from releases.server import has_script, ranged, row_of, to_text
from releases.spans import Range, Span, from_range, runs, spans_of, to_range
from releases.wheels import ReadError

from .samples import Files

RELEASES = ["0.4.1", "0.4.2", "0.5.0"]


class Spans(unittest.TestCase):
    def test_runs(self) -> None:
        self.assertEqual(runs(["a", "a", None, "a", "b"]), [("a", (0, 1)), ("a", (3, 3)), ("b", (4, 4))])
        self.assertEqual(runs([None, None]), [])

    def test_words(self) -> None:
        self.assertEqual(spans_of("x", [["x"], [], ["y", "x"], ["x"]]), [(0, 0), (2, 3)])

    def test_the_newest_release_is_an_open_end(self) -> None:
        cases: list[tuple[Span, Range]] = [
            ((0, 2), ["0.4.1", None]),
            ((1, 1), ["0.4.2", "0.4.2"]),
            ((2, 2), ["0.5.0", None]),
        ]
        for span, ends in cases:
            self.assertEqual(to_range(span, RELEASES), ends)
            self.assertEqual(from_range(ends, RELEASES), span)

    def test_unknown_or_reversed(self) -> None:
        cases: list[Range] = [["0.4.9", None], ["0.5.0", "0.4.1"], [None, "0.5.0"]]
        for ends in cases:
            with self.assertRaises(ValueError):
                from_range(ends, RELEASES)


class DataFile(unittest.TestCase):
    def test_rows_leave_out_what_goes_without_saying(self) -> None:
        self.assertEqual(row_of(Argument(["-q", "--quiet"], action="store_true", default=False)),
                         {"flag": "--quiet", "also": ["-q"], "action": "store_true"})  # fmt: skip
        self.assertEqual(
            row_of(Argument(["--top"], type="int", default=0)), {"flag": "--top", "type": "int", "default": 0}
        )
        self.assertEqual(row_of(Argument(["--adapter"], action="append", default=[])),
                         {"flag": "--adapter", "action": "append", "type": "str"})  # fmt: skip

    def test_a_new_release_is_a_small_diff(self) -> None:
        kept, gone, new = ({"flag": name, "type": "int"} for name in ("--a", "--b", "--c"))
        before = to_text({"server": ranged([[kept, gone], [kept, gone]], "flag", RELEASES[:2])})
        after = to_text({"server": ranged([[kept, gone], [kept, gone], [kept, new]], "flag", RELEASES)})
        changed = set(after.splitlines()) - set(before.splitlines())
        self.assertEqual(
            changed,
            {
                '    {"flag": "--b", "in": ["0.4.1", "0.4.2"], "type": "int"},',
                '    {"flag": "--c", "in": ["0.5.0", null], "type": "int"}',
            },
        )

    def test_reading_again_on_another_day_is_no_change(self) -> None:
        one = to_text({"read_on": "2026-11-29", "server": [{"flag": "--a"}]})
        self.assertTrue(same_but_date(one, one.replace("11-29", "12-24")))
        self.assertFalse(same_but_date(one, one.replace("--a", "--b")))

    def test_the_script_of_a_wheel(self) -> None:
        path = "lmcache-1.0.dist-info/entry_points.txt"
        self.assertTrue(has_script(Files({path: "[console_scripts]\nlmcache = lmcache.cli.main:main\n"})))
        self.assertFalse(has_script(Files({path: "[console_scripts]\nlmcache_server = lmcache.server:main\n"})))
        self.assertFalse(has_script(Files({})))

    def test_the_file_is_as_it_would_be_written(self) -> None:
        text = DATA.read_text(encoding="utf-8")
        self.assertEqual(text, to_text(json.loads(text)))


class HandKept(unittest.TestCase):
    def test_the_file_fits_the_releases(self) -> None:
        behaviour = Behaviour.load()
        releases = [row["release"] for row in server.load(DATA)["releases"]]
        behaviour.check(releases)
        self.assertIn(behaviour.newest_seen, releases)

    def test_faults_name_their_place(self) -> None:
        def words(*rows: dict[str, str]) -> dict[str, object]:
            return {"newest_seen": "0.5.0", "words": {"path": {"doc": "A path.", "rows": list(rows)}}}

        for content, said in (
            ({}, "newest_seen"),
            ({"newest_seen": "0.5.0", "wrods": {}}, "wrods"),
            (words({"text": "/a", "first": "0.4.9"}), "words.path.*0.4.9"),
            (words({"text": "/a"}, {"text": "/b", "first": "0.5.0"}), "words.path: ranges overlap"),
            ({"newest_seen": "0.5.0", "span": {"shown": {"doc": "Shown.", "since": "0.4.1"}}}, "span.shown.*since"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ReadError, said):
                Behaviour(content).check(RELEASES)

    def test_required_members_by_release(self) -> None:
        entry = {"type": "hub", "required": ["url"], "first": "0.4.2"}
        behaviour = Behaviour({"newest_seen": "0.5.0", "adapter": [entry]})
        self.assertIsNone(behaviour.required("hub", "0.4.1"))
        self.assertEqual(behaviour.required("hub", "0.4.10"), ["url"])


class Rust(unittest.TestCase):
    def test_the_checked_in_table_is_what_the_data_says(self) -> None:
        made = rust.render(server.load(DATA), Behaviour.load())
        self.assertEqual(
            TABLE.read_text(encoding="utf-8"),
            made,
            "run `make tables`: data.rs is not made from releases.json and behaviour.toml",
        )

    def test_a_shape_change_is_a_row_and_a_new_word_is_none(self) -> None:
        def row(first: str, last: str | None, **more: object) -> dict[str, object]:
            return {"flag": "--policy", "in": [first, last], "type": "str", **more}

        data = {
            "read_on": "2026-11-29",
            "releases": [{"release": release} for release in RELEASES],
            "commands": [{"command": f"lmcache {name}", "in": ["0.4.1", None]} for name in ("server", "coordinator")],
            "server": [
                row("0.4.1", "0.4.1", choices=["lru"], required=True),
                row("0.4.2", "0.4.2", choices=["lru", "arc"], required=True, default="lru"),
                row("0.5.0", None, choices=["lru", "arc"]),
            ],
            "coordinator": [],
            "adapters": [{"type": "fs", "in": ["0.4.2", None], "required": ["path"]}],
            "serdes": [],
            "evictions": [],
        }
        need = {"type": "fs", "members": ["size"], "unless_member": "sizes", "first": "0.5.0"}
        made = rust.render(data, Behaviour({"newest_seen": "0.5.0", "need": [need]}))
        for line in (
            'static SERVER_POLICY: [Word; 2] = [word("arc", 1, 2), word("lru", 0, 2)];',
            '    flag("--policy", 0, 1, Takes::Text).required().of(&SERVER_POLICY),',
            '    flag("--policy", 2, 2, Takes::Text).of(&SERVER_POLICY),',
            '    adapter("fs", 1, 2, &["path"]),',
            '    need("fs", "size", 2, 2, When::Without("sizes")),',
            "pub const SERVER_COMMAND: Span = span(0, 2);",
        ):
            self.assertIn(f"{line}\n", made)

    def test_unknown_shapes_are_refused(self) -> None:
        for row in ({"nargs": "?", "type": "str"}, {"nargs": "*", "type": "int"}, {"action": "extend", "type": "str"}):
            with self.assertRaisesRegex(ReadError, "--x.*Takes"):
                rust.takes({"flag": "--x", **row})


if __name__ == "__main__":
    unittest.main()
