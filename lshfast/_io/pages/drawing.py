"""Pictures outside a page, in a notebook or a file; they include the colours of a page."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, NamedTuple

from lshfast._common.atomic_files import atomic_file
from lshfast._common.extras import optional
from lshfast._common.visible import printable
from lshfast._io.pages.svg import WIDTH, element

# units of a picture: the height of the line above it, and the margin around all of them
CAPTION = 30
AROUND = 10


class Panel(NamedTuple):
    """A picture of a drawing, its height, and what is written above it."""

    caption: str
    picture: Any
    height: float


class Drawing:
    """Pictures below each other, as SVG that needs neither matplotlib nor a page.

    A notebook shows them. Their colours follow the preference of the reader for light or dark.

    Parameters
    ----------
    panels : sequence of Panel
    """

    def __init__(self, panels: Sequence[Panel]) -> None:
        self._panels = list(panels)

    def __repr__(self) -> str:
        return f"<Drawing: {'; '.join(panel.caption for panel in self._panels)}>"

    def _repr_svg_(self) -> str:
        inside = []
        top = float(AROUND)
        for panel in self._panels:
            inside += [
                element("text", panel.caption, x=AROUND, y=top + 14, class_="caption"),
                element(
                    "svg",
                    panel.picture,
                    x=AROUND,
                    y=top + CAPTION,
                    width=WIDTH,
                    height=panel.height,
                ),
            ]
            top += CAPTION + panel.height + AROUND
        wide = WIDTH + 2 * AROUND
        ground = element("rect", width=wide, height=top, class_="ground")
        style = element("style", optional("markupsafe").Markup(_style()))
        drawn: str = element(
            "svg",
            style,
            ground,
            *inside,
            xmlns="http://www.w3.org/2000/svg",
            width=wide,
            height=top,
            viewBox=f"0 0 {wide} {top:g}",
            class_="lshfast",
        )
        return str(drawn)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the pictures into a file.

        Parameters
        ----------
        path : path
            The file, named .svg.
        overwrite : bool, default False
            Replace an existing file.

        Raises
        ------
        ValueError
            If the path has another suffix.
        OSError
            If the file exists, or cannot be written.
        """
        if os.path.splitext(path)[1].lower() != ".svg":
            raise ValueError(
                f"{printable(os.fspath(path))}: a drawing must be named .svg"
            )
        with atomic_file(path, overwrite) as stream:
            stream.write(self._repr_svg_().encode("utf-8"))


def _style() -> str:
    """Return the rules for drawings, for light and dark, with colours that need no variables.

    They apply to drawings only, because a notebook has them in its own page.
    """
    folder = resources.files("lshfast._io.pages") / "templates"
    light, dark = re.findall(
        r":root \{(.*?)\}",
        (folder / "style.css").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    rules = (folder / "pictures.css").read_text(encoding="utf-8")
    rules += (
        "svg .ground { fill: var(--ground); }\nsvg .caption { font-weight: 600; font-size: "
        "14px; }\n"
    )

    def colored(colors: str) -> str:
        values = dict(re.findall(r"--(\w+): (#\w+)", colors))
        scoped = re.sub(r"\bsvg ", ".lshfast ", rules)
        return re.sub(r"var\(--(\w+)\)", lambda name: values[name[1]], scoped)

    return (
        f"{colored(light)}@media (prefers-color-scheme: dark) {{\n{colored(dark)}}}\n"
    )
