"""Make the pictures of the pages of docs/start: `python docs/pictures/take.py [PAGE...]`.

Each page is run in a folder of its own, and the report that its commands write is shown by Chromium. Needs the extras
`test` and `plots`, and Chromium of the system.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

if TYPE_CHECKING:
    from PIL import Image

from tests.site.pages import run  # noqa: E402

WIDTH = 1200

# What is shown of a page: a file that its commands write, and parts of it, each from a heading (None: the top).
SHOWN = {
    "training-data": ("report.html", [(None, 800)]),
    "customers": ("links.html", [(None, 720), ("Scores and the threshold", 420)]),
    "search": ("pairs.html", [(None, 800)]),
    "genomes": ("genomes.html", [(None, 560), ("The groups", 540)]),
    "images": ("gallery.html", [(None, 940)]),
    "reuse": ("passages.html", [(None, 820), ("Texts with the most", 560)]),
}


def picture(browser, path: Path, parts: list[tuple[str | None, int]]) -> Image.Image:
    """Return a picture, or parts of a page below each other."""
    from PIL import Image

    page = browser.new_context(viewport={"width": WIDTH, "height": 1000}).new_page()
    page.goto(path.as_uri())
    shown = Image.new("RGB", (WIDTH, sum(height for _, height in parts)))
    below = 0
    for heading, height in parts:
        top = 0 if heading is None else page.locator("h2, h3", has_text=heading).first.bounding_box()["y"] - 20
        part = page.screenshot(full_page=True, clip={"x": 0, "y": top, "width": WIDTH, "height": height})
        shown.paste(Image.open(io.BytesIO(part)), (0, below))
        below += height
    return shown


def main(names: list[str]) -> None:
    os.environ["SOURCE_DATE_EPOCH"] = "1767225600"  # the date on the pages: 1 January 2026
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names or SHOWN:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                for _ in run(HERE.parent / "start" / f"{name}.md", Path(folder)):
                    pass
                file, parts = SHOWN[name]
                shown = (
                    picture(browser, Path(folder) / file, parts).convert("RGB").quantize(128, dither=Image.Dither.NONE)
                )
                shown.save(HERE / f"{name}.png", optimize=True)
                os.chdir(HERE)


if __name__ == "__main__":
    main(sys.argv[1:])
