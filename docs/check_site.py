"""Check the built site: every link leads to a page and an anchor, the search finds, and narrow pages do not overflow.

    python docs/check_site.py [docs/build/html]

`make -C docs check` builds the site first. The search and the widths need the package playwright and the program
chromium; without them this part is left out, and says so.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTHS = (400, 1280)
PAGES = (
    "index",
    "start/training-data",
    "tutorials/index",
    "reference/api/lshfast",
    "reference/commands",
    "how-to/records",
)
WORD, FOUND = "hamming", "how-to/hamming.html"  # a word to search for, and a page that has to be among the answers


class Page(HTMLParser):
    """The links of a page, and the anchors that others can link to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag != "use":
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    """Return a line for each link within the site that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    if not pages:
        return [f"{site} has no pages"]
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file():
                broken.append(f"{path.relative_to(site.resolve())}: {link}: no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site.resolve())}: {link}: no such anchor")
    return broken


def seen_in_browser(site: Path) -> list[str]:
    """Return a line for each page that is wider than the window, and for a search that does not find."""
    from playwright.sync_api import sync_playwright

    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width in WIDTHS:
            window = browser.new_page(viewport={"width": width, "height": 900})
            window.route("http*://**", lambda route: route.abort())  # as without a network
            for name in PAGES:
                window.goto((site / f"{name}.html").resolve().as_uri())
                wide = window.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    wrong.append(f"{name}.html is {wide} pixels wide in a window of {width}")
            window.close()
        window = browser.new_page()
        window.route("http*://**", lambda route: route.abort())
        window.goto((site / "search.html").resolve().as_uri() + f"?q={WORD}")
        try:
            window.wait_for_selector(f"#search-results a[href*='{FOUND}']", timeout=20_000)
        except Exception as error:
            wrong.append(f"the search for {WORD} does not find {FOUND}: {error}")
        browser.close()
    return wrong


def main() -> int:
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "build" / "html"
    wrong = broken_links(site)
    if importlib.util.find_spec("playwright") and shutil.which("chromium"):
        wrong += seen_in_browser(site)
    else:
        print("search and widths: left out, there is no playwright or no chromium")
    print(*wrong, sep="\n")
    print(f"{len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
