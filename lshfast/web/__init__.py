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

- urls.py, links.py: URLs without sessions, and as bigrams of words; links of pages.
- mirror_search.py, host_sets.py, mirrors.py: `find_mirrors`; the sets of hosts, and the mirrors
  among them; the result.
- contraction.py, link_graphs.py, prefixes.py: contraction; graphs whose nodes are merged; lists of
  link sets by their rarest links.
- command.py, job.py, page.py: the commands and their options; their jobs; the page of mirror hosts.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.web.contraction import Contraction, contract
    from lshfast.web.links import page_links, virtual_hosts
    from lshfast.web.mirror_search import find_mirrors
    from lshfast.web.mirrors import Mirror, Mirrors
    from lshfast.web.urls import HostPath, clean_url, path_bigrams, split_url

__all__ = [
    "Contraction",
    "HostPath",
    "Mirror",
    "Mirrors",
    "clean_url",
    "contract",
    "find_mirrors",
    "page_links",
    "path_bigrams",
    "split_url",
    "virtual_hosts",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "contraction": "Contraction contract",
            "links": "page_links virtual_hosts",
            "mirror_search": "find_mirrors",
            "mirrors": "Mirror Mirrors",
            "urls": "HostPath clean_url path_bigrams split_url",
        },
    )
