"""Applications to the web: mirror hosts of a crawl, and contraction of its link graph."""

from lshfast.web.contraction import Contraction, contract
from lshfast.web.mirrors import Mirror, Mirrors, find_mirrors
from lshfast.web.urls import HostPath, path_bigrams, split_url

__all__ = ["Contraction", "HostPath", "Mirror", "Mirrors", "contract", "find_mirrors", "path_bigrams", "split_url"]
