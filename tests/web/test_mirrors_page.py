"""The page of mirror hosts: what it has, hostile paths, and outputs all or none."""

import pytest

from lshfast.web import find_mirrors
from tests.cli.commands import failing, run
from tests.io.pages.pages import HOSTILE, read_page

PAGES = [
    "/docs/install/linux.html",
    "/docs/install/mac.html",
    "/docs/guide/start.html",
    "/news/2024/launch",
]
URLS = [
    f"http://{host}{page}" for host in ("a.example", "mirror.example") for page in PAGES
] + ["http://c.example/x"]
URLS.append("http://mirror.example/only/here")


def test_a_page_of_mirrors(tmp_path):
    found = find_mirrors(URLS)
    found.to_html(
        tmp_path / "out.html", urls=URLS, command="lshfast web mirrors urls.txt"
    )
    text = read_page(tmp_path / "out.html")
    for shown in (
        "hosts 3",
        "mirrors 1",
        "a.example mirrors mirror.example: similarity 0.800",
        PAGES[0],
        "/only/here",
    ):
        assert shown in text
    found.to_html(tmp_path / "out.html", overwrite=True)
    assert PAGES[0] not in read_page(tmp_path / "out.html")


def test_no_mirrors(tmp_path):
    for urls in ([], ["http://c.example/x"]):
        find_mirrors(urls).to_html(tmp_path / "out.html", urls=urls, overwrite=True)
        assert "No host mirrors another one." in read_page(tmp_path / "out.html")


def test_hostile_paths(tmp_path):
    safe = [
        text
        for text in HOSTILE
        if not any(mark in text for mark in "\ud800\0\x1b \u2028#")
    ]
    urls = [
        f"http://{host}/{text}/x"
        for host in ("a.example", "b.example")
        for text in safe
    ]
    found = find_mirrors(
        [*urls, *(f"http://h{n}.example{page}" for n in range(400) for page in PAGES)]
    )
    assert len(found.removed) == 400
    found.to_html(tmp_path / "out.html", urls=urls, title="".join(HOSTILE))
    text = read_page(tmp_path / "out.html")
    assert "/<script>alert(1)</script>/x" in text
    assert "\\u202e" in text
    assert "200 more are not shown" in text


@pytest.mark.parametrize("contents", [False, True])
def test_the_command(tmp_path, contents):
    source, page = tmp_path / "urls.txt", tmp_path / "out.html"
    source.write_text(
        "".join(f"{url} sum\n" if contents else f"{url}\n" for url in URLS)
    )
    options = [
        "-o",
        tmp_path / "out.csv",
        "-q",
        *(["--content-column", "sum"] if contents else []),
    ]
    assert run("web", "mirrors", source, "--html", page, *options).exit_code == 0
    text = read_page(page)
    assert PAGES[0] in text
    assert ("equal pages" in text) == contents
    assert (
        run(
            "web",
            "mirrors",
            source,
            "--html",
            page,
            *options,
            "--html-no-texts",
            "--overwrite",
        ).exit_code
        == 0
    )
    assert PAGES[0] not in read_page(page)
    (tmp_path / "out.csv").unlink()
    assert "exists already" in failing(
        2, "web", "mirrors", source, "--html", page, *options
    )
    assert not (tmp_path / "out.csv").exists()


def test_bad_rows_are_counted_once(tmp_path):
    source = tmp_path / "urls.txt"
    source.write_text("".join(f"{url}\n" for url in URLS) + "not a url\n")
    options = [
        "--on-error",
        "skip",
        "-o",
        tmp_path / "out.csv",
        "--html",
        tmp_path / "out.html",
    ]
    result = run("web", "mirrors", source, *options)
    assert f"{len(URLS)} URLs + 1 rejected" in result.stderr
    assert len((tmp_path / "out.csv.rejects.jsonl").read_text().splitlines()) == 1
    assert read_page(tmp_path / "out.html")
