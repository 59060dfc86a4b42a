"""Which wheels are chosen, and how files are read out of them."""

from __future__ import annotations

import io
import random
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any

from releases import wheels
from releases.wheels import BLOCK, RangeReader, ReadError, Sources, choose, parse_final


def wheel_bytes() -> bytes:
    """A wheel of more than two blocks: noise first, so that the sources lie behind it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/native.so", random.Random(7).randbytes(3 * BLOCK))
        archive.writestr("pkg/__init__.py", "")
        archive.writestr("pkg/config.py", "SIZE = 'größer'\n")
        archive.writestr("../outside.py", "x = 1\n")
    return content.getvalue()


class Server:
    """Answers range requests out of memory and counts them."""

    def __init__(self, content: bytes, ranges: bool = True) -> None:
        self.content = content
        self.ranges = ranges
        self.sent = 0

    def get(self, url: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        first, last = (int(end) for end in headers["Range"].removeprefix("bytes=").split("-"))
        if not self.ranges:
            return 200, {}, self.content
        body = self.content[first : last + 1]
        self.sent += len(body)
        return 206, {"content-range": f"bytes {first}-{last}/{len(self.content)}"}, body


class RangeReading(unittest.TestCase):
    def test_only_the_needed_blocks_are_fetched(self) -> None:
        server = Server(wheel_bytes())
        with zipfile.ZipFile(RangeReader("https://example.org/pkg.whl", server.get)) as archive:
            self.assertEqual(archive.read("pkg/config.py").decode(), "SIZE = 'größer'\n")
        self.assertLess(server.sent, 2 * BLOCK)

    def test_a_file_that_spans_blocks(self) -> None:
        with zipfile.ZipFile(RangeReader("https://example.org/pkg.whl", Server(wheel_bytes()).get)) as archive:
            self.assertEqual(archive.read("pkg/native.so"), random.Random(7).randbytes(3 * BLOCK))

    def test_a_server_without_ranges(self) -> None:
        server = Server(wheel_bytes(), ranges=False)
        with zipfile.ZipFile(RangeReader("https://example.org/pkg.whl", server.get)) as archive:
            self.assertEqual(archive.read("pkg/__init__.py"), b"")

    def test_a_short_answer_is_refused(self) -> None:
        server = Server(wheel_bytes())
        reader = RangeReader("https://example.org/pkg.whl", server.get)
        server.content = server.content[:10]
        with self.assertRaisesRegex(ReadError, "asked for bytes"):
            reader.read(100)


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "cache"

    def open(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(wheel_bytes()))

    def test_a_second_run_opens_no_archive(self) -> None:
        first = Sources("pkg.whl", self.open, self.folder)
        names, text = first.names(), first.text("pkg/config.py")
        again = Sources("pkg.whl", lambda: self.fail("opened"), self.folder)
        self.assertEqual((again.names(), again.text("pkg/config.py")), (names, text))

    def test_what_is_not_there(self) -> None:
        self.assertIsNone(Sources("pkg.whl", self.open, self.folder).text("pkg/absent.py"))

    def test_no_name_leaves_the_folder(self) -> None:
        self.assertEqual(Sources("pkg.whl", self.open, self.folder).text("../outside.py"), "x = 1\n")
        self.assertEqual([path.name for path in self.folder.parent.iterdir()], ["cache"])
        self.assertEqual([path.name for path in self.folder.rglob("*.py")], [])


class Choice(unittest.TestCase):
    def chosen(self, *names: str, since: wheels.Release = (), **more: Any) -> list[str]:
        files = [{"filename": name, "url": f"https://example.org/{name}", **more} for name in names]
        return [wheel.filename for wheel in choose("pkg", files, since)]

    def test_final_releases_in_order(self) -> None:
        names = ("pkg-0.10.0-py3-none-any.whl", "pkg-0.9.0-py3-none-any.whl", "pkg-0.9.1rc1-py3-none-any.whl",
                 "pkg-0.9.1.dev3-py3-none-any.whl", "pkg-0.11.0.tar.gz")  # fmt: skip
        self.assertEqual(self.chosen(*names), ["pkg-0.9.0-py3-none-any.whl", "pkg-0.10.0-py3-none-any.whl"])
        self.assertEqual(self.chosen(*names, since=(0, 9, 1)), ["pkg-0.10.0-py3-none-any.whl"])

    def test_nothing_yanked(self) -> None:
        self.assertEqual(self.chosen("pkg-0.9.0-py3-none-any.whl", yanked="broken"), [])

    def test_the_newest_post_release_and_build(self) -> None:
        self.assertEqual(
            self.chosen(
                "pkg-0.9.0-py3-none-any.whl", "pkg-0.9.0.post2-py3-none-any.whl", "pkg-0.9.0.post1-py3-none-any.whl"
            ),
            ["pkg-0.9.0.post2-py3-none-any.whl"],
        )
        self.assertEqual(
            self.chosen("pkg-0.9.0-py3-none-any.whl", "pkg-0.9.0-2-py3-none-any.whl"), ["pkg-0.9.0-2-py3-none-any.whl"]
        )

    def test_one_platform(self) -> None:
        self.assertEqual(
            self.chosen("pkg-1.0-cp310-cp310-linux_x86_64.whl", "pkg-1.0-cp311-cp311-linux_aarch64.whl",
                        "pkg-1.0-cp311-cp311-linux_x86_64.whl"),
            ["pkg-1.0-cp311-cp311-linux_x86_64.whl"],
        )  # fmt: skip

    def test_versions(self) -> None:
        self.assertEqual(parse_final("0.3.9.post2"), ((0, 3, 9), 2))
        self.assertEqual([parse_final(text) for text in ("0.5.7rc2", "0.5.6rc4.dev27", "v1", "")], [None] * 4)


if __name__ == "__main__":
    unittest.main()
