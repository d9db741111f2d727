"""Each library with a page for its users is in their index, and has figures."""

from pathlib import Path

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))


def test_each_library_has_a_page():
    index = next(page for page in PAGES if page.stem == "index").read_text("utf-8")
    for page in PAGES:
        assert page.stem == "index" or f"]({page.stem}.md)" in index
        assert page.stem in (
            "index",
            "datasketch",
        ) or "\n## Figures\n" in page.read_text("utf-8")
