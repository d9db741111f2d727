"""Check the built site: links lead somewhere, code is shown as code, the search finds, and pages fit the window.

    python docs/check_site.py [docs/build/html]

Code is shown as code if no prompt stands in running text, no quotation is in another one (Markdown makes three of a
prompt outside a fence), and a lexer of Pygments reads each block.

`make -C docs check` builds the site first. The search and the widths need the package playwright and the program
chromium; without them this part is left out, and says so.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pygments.lexers import get_all_lexers

WIDTHS = (400, 1280)
PAGES = (
    "index",
    "start/training-data",
    "tutorials/index",
    "reference/api/lshfast",
    "reference/commands/index",
    "reference/commands/dedup",
    "reference/textbook-numbers",
    "how-to/records",
)
NO_PAGES = {"_static"}
# Sphinx's own name for code without a language, which it reads as Python with or without prompts.
KNOWN_LANGUAGES = {"default"}.union(*(aliases for _, aliases, _, _ in get_all_lexers()))
WORD, FOUND = "hamming", "how-to/hamming.html"  # a word to search for, and a page that has to be among the answers


CODE_TAGS = ("pre", "code", "script", "style")
FIRST_RESULT = re.compile(r"^```python\n[^`]*```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGE_CLASS = re.compile(r"highlight-(\S+)")


class Page(HTMLParser):
    """The links of a page, the anchors that others can link to, and what is wrong with its code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.faults: list[str] = []
        self.open_tags: Counter[str] = Counter()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open_tags[tag] += 1
        if tag == "blockquote" and self.open_tags[tag] > 1:
            self.report("a quotation within a quotation")
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag != "use":
                self.links.add(value)
            elif name == "class":
                self.check_code(tag, value)

    def handle_endtag(self, tag: str) -> None:
        self.open_tags[tag] -= 1

    def handle_data(self, data: str) -> None:
        if ">>>" in data and not any(self.open_tags[tag] > 0 for tag in CODE_TAGS):
            self.report("a prompt outside a fence")

    def check_code(self, tag: str, classes: str) -> None:
        """Report a block of a language that Pygments does not know, and characters that its lexer could not read."""
        language = LANGUAGE_CLASS.match(classes)
        if tag == "div" and language and language[1] not in KNOWN_LANGUAGES:
            self.report(f"a block of code in {language[1]!r}, which no lexer reads")
        if tag == "span" and classes == "err":
            self.report("code that the lexer of its block cannot read")

    def report(self, fault: str) -> None:
        self.faults.append(f"line {self.getpos()[0]}: {fault}")


def read_pages(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html") if not NO_PAGES.intersection(path.parts)}


def wrong_code(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return a line for each prompt in running text, each nested quotation and each block that no lexer reads."""
    return [f"{path.relative_to(site.resolve())}: {fault}" for path, page in pages.items() for fault in page.faults]


def broken_links(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return a line for each link within the site that leads nowhere."""
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


def untrue_beginnings(site: Path, sources: Path) -> list[str]:
    """Return a line for each result at the top of a tutorial that no cell of the executed page prints."""
    wrong = []
    for source in sorted((sources / "tutorials").glob("*.md")):
        built = site / "tutorials" / f"{source.stem}.html"
        shown = FIRST_RESULT.search(source.read_text("utf-8"))
        if shown and built.is_file():
            text = " ".join(unescape(re.sub(r"<[^>]+>", "", built.read_text("utf-8"))).split())
            lines = [" ".join(line.split()) for line in shown[1].splitlines()]
            wrong += [f"tutorials/{source.stem}.md: no cell prints: {line}" for line in lines if text.count(line) < 2]
    return wrong


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
    pages = read_pages(site)
    wrong = broken_links(site, pages) + wrong_code(site, pages) + untrue_beginnings(site, Path(__file__).parent)
    if importlib.util.find_spec("playwright") and shutil.which("chromium"):
        wrong += seen_in_browser(site)
    else:
        print("search and widths: left out, there is no playwright or no chromium")
    print(*wrong, sep="\n")
    print(f"{len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
