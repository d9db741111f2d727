"""Pages in a browser: they run and load nothing, fit a narrow screen, and are found accessible by axe."""

import json
import shutil

import pytest

from lshfast import check, dedup_files
from tests.cli.commands import run
from tests.corpora import WORDS
from tests.engine.executors.test_page import HOSTILE
from tests.site.test_samples import SAMPLES

pytestmark = pytest.mark.slow

# A light and narrow screen, and a dark and wide one.
SCREENS = [("light", 400), ("dark", 1200)]

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: install lshfast[test]"
    )
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )


def rows():
    """Return rows that are similar, and written to break a page."""
    common = " ".join(WORDS[:60])
    for text in [
        *HOSTILE,
        "no-space-" * 300,
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
    ]:
        for end in ("", " one", " two", " three"):
            yield {"id": text[:60] + end, "text": f"{text} {common}{end}"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    sources = [folder / f"{'long-name-' * 12}{number}.jsonl" for number in range(2)]
    for source in sources:
        source.write_text(
            "".join(
                json.dumps(row | {"id": f"{row['id']} {source.name[-7]}"}) + "\n"
                for row in rows()
            )
        )
    dedup_files(sources, html=folder / "dedup.html", id_column="id", threshold=0.5)
    dedup_files(
        sources,
        html=folder / "no texts.html",
        id_column="id",
        threshold=0.5,
        html_texts=False,
    )
    dedup_files(
        sources,
        pairs=folder / "pairs.csv",
        html=folder / "pairs.html",
        id_column="id",
        threshold=0.5,
    )
    texts = [row["text"] for row in rows()]
    check(texts, threshold=0.5, examples=9).to_html(folder / "check.html")
    return sorted(folder.glob("*.html"))


@pytest.mark.parametrize("number", range(4))
def test_a_page_runs_and_loads_nothing(browser, pages, number):
    page = browser.new_context().new_page()
    happened = []
    for event in ("dialog", "pageerror", "console", "request"):
        page.on(
            event,
            lambda said, event=event: happened.append(
                (event, getattr(said, "url", said))
            ),
        )
    page.goto(pages[number].as_uri())
    page.wait_for_timeout(300)
    assert happened == [("request", pages[number].as_uri())]
    assert page.locator("script, iframe, object, embed, img, link, form").count() == 0
    assert page.locator("h1").count() == 1


def on_screens(pages):
    """Return each page with one of the screens in turn; the other one is weekly."""
    return [
        pytest.param(page, *screen, marks=[pytest.mark.weekly] * ((number + turn) % 2))
        for number, page in enumerate(pages)
        for turn, screen in enumerate(SCREENS)
    ]


@pytest.mark.parametrize(("number", "scheme", "width"), on_screens(range(4)))
def test_a_page_is_accessible_and_fits(browser, pages, number, scheme, width):
    check_page(browser, pages[number], scheme, width)


@pytest.mark.parametrize(
    ("sample", "scheme", "width"),
    on_screens(sorted(path.stem for path in SAMPLES.glob("*.html"))),
)
def test_a_sample_is_accessible_and_fits(browser, sample, scheme, width):
    check_page(browser, SAMPLES / f"{sample}.html", scheme, width)


def test_a_printed_page_is_whole(browser, pages):
    """Folded parts are open, and no table is wider than the sheet, in light colours on any screen."""
    page = browser.new_context(
        color_scheme="dark", viewport={"width": 718, "height": 1000}
    ).new_page()
    page.goto(pages[1].as_uri())
    is_visible = (
        "() => document.querySelector('details:not([open]) table').checkVisibility()"
    )
    assert not page.evaluate(is_visible)
    page.emulate_media(media="print")
    assert page.evaluate(is_visible)
    assert page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth + 1)"
    )


def test_captions_stay_in_their_box(browser):
    page = browser.new_context(viewport={"width": 400, "height": 1000}).new_page()
    for sample in ("check", "passages"):
        page.goto((SAMPLES / f"{sample}.html").as_uri())
        assert page.evaluate(
            """() => [...document.querySelectorAll('.scroll .within')].map(
                 text => text.getBoundingClientRect().right
                   - text.closest('.scroll').getBoundingClientRect().right).every(beyond => beyond <= 1)"""
        )
        wide = page.locator(".scroll").evaluate_all(
            "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length"
        )
        assert wide > 0


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Return a page with pictures in it, of files with hostile names."""
    from tests.images.pictures import Image, picture, save

    folder = tmp_path_factory.mktemp("pictures")
    for seed, name in enumerate(
        ["<script>alert(1)", '" onerror="alert(1)', "\u202egpj", "long-name-" * 20]
    ):
        save(folder, f"{name}.png", picture(seed))
        save(folder, f"{name} copy.jpg", picture(seed, (120, 90)))
    save(folder, "sky.png", Image.new("L", (64, 64)))
    html = folder / "gallery.html"
    assert run("images", folder, "--html", html, "-q").exit_code == 0
    return html


def test_a_gallery_shows_its_pictures_and_loads_nothing(browser, gallery):
    page = browser.new_context().new_page()
    happened = []
    for event in ("dialog", "pageerror", "console", "request"):
        page.on(
            event,
            lambda said, event=event: happened.append(
                (event, getattr(said, "url", said))
            ),
        )
    page.goto(gallery.as_uri())
    page.wait_for_timeout(300)
    assert {(event, str(said).partition(",")[0]) for event, said in happened} <= {
        ("request", gallery.as_uri().partition(",")[0]), ("request", "data:image/jpeg;base64")
    }  # fmt: skip
    assert page.locator("script, iframe, object, embed, link, form").count() == 0
    assert page.locator("img").count() >= 9
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")


@pytest.mark.parametrize(("scheme", "width"), SCREENS)
def test_a_gallery_is_accessible_and_fits(browser, gallery, scheme, width):
    check_page(browser, gallery, scheme, width)


# The texts of pictures that are smaller than 11 pixels, go beyond their picture, or meet another one.
HARD_TO_READ = """() => [...document.querySelectorAll('svg.picture')].flatMap(picture => {
  if (!picture.checkVisibility()) return [];
  const all = picture.getBoundingClientRect();
  const scale = all.width / picture.viewBox.baseVal.width;
  const texts = [...picture.querySelectorAll('text')].filter(text => text.textContent);
  const boxes = texts.map(text => text.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top + a.height / 4 < b.bottom - b.height / 4 && b.top + b.height / 4 < a.bottom - a.height / 4;
  return texts.filter((text, at) => parseFloat(getComputedStyle(text).fontSize) * scale < 11
    || boxes[at].left < all.left - 1 || boxes[at].right > all.right + 1
    || boxes.some((other, number) => number < at && meet(other, boxes[at]))).map(text => text.textContent);
})"""


def check_page(browser, path, scheme, width):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="needs axe: install lshfast[test]",
    )
    viewport = {"width": width, "height": 900}
    page = browser.new_context(
        color_scheme=scheme, viewport=viewport, bypass_csp=True
    ).new_page()
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(HARD_TO_READ) == []
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.mark.weekly
def test_a_page_prints_without_scripts(browser, pages, tmp_path):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(pages[0].as_uri())
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
