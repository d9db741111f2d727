"""The site: `make -C docs html` builds it with the packages of the extra `docs`, and treats warnings as errors.

The pages are Markdown files that can be read as they are. Pages of the API and of the commands are written from
docstrings and from the declared options when the site is built (generated_pages.py). The tutorials are executed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated_pages  # noqa: E402

import lshfast  # noqa: E402

project = "lshfast"
author = "The lshfast developers"
project_copyright = "The lshfast developers"
release = version = lshfast.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["build", "examples", "samples", "**.ipynb_checkpoints"]
suppress_warnings = ["ref.python"]  # one name of several objects, in types such as "path"

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}

# Tutorials: their cells run in the order of the page; an exception, or a cell that never ends, ends the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "build" / "cells")
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_merge_streams = True

smartquotes = False  # "--option" stays as it is typed

# Docstrings
default_role = "code"
autodoc_typehints = "none"  # the docstrings give types, with shapes and ranges
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"members": True, "inherited-members": True}
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

# Appearance
html_theme = "pydata_sphinx_theme"
html_title = "lshfast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "lshfast"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copybutton_selector = "div:not(.highlight-text) > div.highlight pre"  # outputs are not copied
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def link_to_file(app: Any, doctree: Any) -> None:
    """Link to files of docs/ that are no pages: sample reports are opened, other files are copied and downloaded."""
    from docutils import nodes
    from sphinx import addnodes

    for node in list(doctree.findall(addnodes.download_reference)):
        target = node["reftarget"]
        if target.endswith(".html"):
            page = HERE / f"{app.env.docname}.md"
            path = os.path.relpath((page.parent / target).resolve(), HERE / "samples")
            url = os.path.relpath(f"samples/{path}", Path(app.env.docname).parent)
            link = nodes.reference("", "", *node.children, refuri=url, internal=True)
            node.replace_self(link)


def copy_samples(app: Any, error: Exception | None) -> None:
    """Put the sample reports beside the pages."""
    if error is None:
        others = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(HERE / "samples", Path(app.outdir) / "samples", ignore=others, dirs_exist_ok=True)


# Pages that have moved: the old place, and the new one.
MOVED = {
    "start/overview": "start/guide",
    "reference/command-line": "reference/commands/index",
    "reference/commands": "reference/commands/index",
    "understand/planning": "understand/families",
}


def write_moved(app: Any, error: Exception | None) -> None:
    """Lead from the old places of pages to the new ones."""
    if error is not None:
        return
    for old, new in MOVED.items():
        url = os.path.relpath(f"{new}.html", Path(old).parent)
        page = Path(app.outdir) / f"{old}.html"
        page.write_text(
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Moved</title>'
            f'<meta http-equiv="refresh" content="0; url={url}"><meta name="robots" content="noindex"></head>'
            f'<body><p>This page has moved: <a href="{url}">{new}</a>.</p></body></html>\n',
            encoding="utf-8",
        )


def setup(app: Any) -> None:
    """Write the generated pages before Sphinx looks for pages."""
    generated_pages.write(HERE)
    app.connect("doctree-read", link_to_file)
    app.connect("build-finished", copy_samples)
    app.connect("build-finished", write_moved)
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)  # before napoleon


def plain_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Prepare a docstring for napoleon: it has formulas, and lists of parameters that share a description.

    ``*`` and ``|`` are escaped outside of code, since reStructuredText would take them for markup. Names of parameters
    that go on in the next line are joined.
    """
    text = re.sub(r"(?m)^(\w+(?:, [\w*]+)*),\n(?=\w+(?:, [\w*]+)*(?: :.*|,)?$)", r"\1, ", "\n".join(lines))
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else escaped(line) for line in text.split("\n")]


def escaped(line: str) -> str:
    between = re.split(r"(``.*?``|`[^`]*`)", line)  # code in backticks, at odd places
    return "".join(part if place % 2 else re.sub(r"([*|])", r"\\\1", part) for place, part in enumerate(between))
