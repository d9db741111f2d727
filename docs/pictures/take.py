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

# What is shown: the page whose commands write a file, the file, and parts of it. A part begins at a heading (None: at
# the top) and has a height, or it is the first element of a class.
SHOWN = {
    "difference": ("training-data", "report.html", [(".example", 0)]),
    "training-data": ("training-data", "report.html", [(None, 800)]),
    "customers": ("customers", "links.html", [(None, 800), ("Scores and the threshold", 420)]),
    "search": ("search", "pairs.html", [(None, 800)]),
    "genomes": ("genomes", "genomes.html", [(None, 560), ("The groups", 540)]),
    "images": ("images", "gallery.html", [(None, 940)]),
    "reuse": ("reuse", "passages.html", [(None, 560), ("Texts with the most", 560)]),
}


def picture(browser, path: Path, parts: list[tuple[str | None, int]]) -> Image.Image:
    """Return a picture, or parts of a page below each other."""
    from PIL import Image

    page = browser.new_context(viewport={"width": WIDTH, "height": 1000}).new_page()
    page.goto(path.as_uri())
    clips = [clip_of(page, place, height) for place, height in parts]
    shown = Image.new("RGB", (int(clips[0]["width"]), int(sum(clip["height"] for clip in clips))))
    below = 0
    for clip in clips:
        part = page.screenshot(full_page=True, clip=clip)
        shown.paste(Image.open(io.BytesIO(part)), (0, int(below)))
        below += clip["height"]
    return shown


def clip_of(page, place: str | None, height: int) -> dict[str, float]:
    """Return the part of a page that is shown."""
    if place is not None and place.startswith("."):
        return page.locator(place).first.bounding_box()
    top = 0 if place is None else page.locator("h2, h3", has_text=place).first.bounding_box()["y"] - 20
    return {"x": 0, "y": top, "width": WIDTH, "height": height}


def main(names: list[str]) -> None:
    os.environ["SOURCE_DATE_EPOCH"] = "1767225600"  # the date on the pages: 1 January 2026
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names or SHOWN:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                page, file, parts = SHOWN[name]
                for _ in run(HERE.parent / "start" / f"{page}.md", Path(folder)):
                    pass
                shown = (
                    picture(browser, Path(folder) / file, parts).convert("RGB").quantize(128, dither=Image.Dither.NONE)
                )
                shown.save(HERE / f"{name}.png", optimize=True)
                os.chdir(HERE)


if __name__ == "__main__":
    main(sys.argv[1:])
