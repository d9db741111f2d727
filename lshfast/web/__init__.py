"""Applications to the web: mirror hosts of a crawl, and contraction of its link graph.

>>> from lshfast.web import find_mirrors
>>> pages = [
...     "/docs/install/linux.html",
...     "/docs/install/mac.html",
...     "/docs/guide/start.html",
... ]
>>> urls = [
...     f"http://{host}{page}"
...     for host in ("a.example", "mirror.b.example")
...     for page in pages
... ]
>>> [(mirror.host, mirror.mirror_of) for mirror in find_mirrors(urls).removed]
[('mirror.b.example', 'a.example')]

``lshfast web mirrors`` and ``lshfast web contract`` are the commands.

Files:

- urls.py, mirrors.py: URLs as bigrams of words; mirror hosts.
- contraction.py, prefixes.py: contraction of link graphs; lists of link sets by their rarest links.
- command.py, job.py, page.py: the commands and their options; their jobs; the page of mirror hosts.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.web.contraction import Contraction, contract
    from lshfast.web.mirrors import Mirror, Mirrors, find_mirrors
    from lshfast.web.urls import HostPath, path_bigrams, split_url

__all__ = [
    "Contraction",
    "HostPath",
    "Mirror",
    "Mirrors",
    "contract",
    "find_mirrors",
    "path_bigrams",
    "split_url",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "contraction": "Contraction contract",
            "mirrors": "Mirror Mirrors find_mirrors",
            "urls": "HostPath path_bigrams split_url",
        },
    )
