"""The examples of the pages are doctests in fenced code, and the line that closes a fence ends the expected output."""

import doctest
import re

CLOSED_FENCE = re.compile(r"^ *```$", re.MULTILINE)


class PageParser(doctest.DocTestParser):
    """Read examples from Markdown. Python's parser would take the closing fence for a part of the output."""

    def parse(self, string, name="<string>"):
        return super().parse(CLOSED_FENCE.sub("", string), name)


doctest.DocTestParser = PageParser  # which pytest looks up for each page
