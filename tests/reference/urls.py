"""Words and positional bigrams of paths, and mirrors of hosts by comparing all pairs."""

from tests.reference.text import words

STOP_WORDS = {"htm", "html", "txt", "main", "index", "home", "bin", "cgi"}


def url_words(text):
    """Return the words of a part of a URL: digits and underscores separate words, as punctuation does."""
    return words(
        "".join(" " if character in "0123456789_" else character for character in text)
    )


def bigrams(path):
    """Return the positional bigrams of a path as (word, word, position); a single word is followed by None."""
    found = [word for word in url_words(path) if word not in STOP_WORDS]
    if len(found) == 1:
        return [(found[0], None, 0)]
    return [(found[i], found[i + 1], i) for i in range(len(found) - 1)]


def similarity(first, second, measure="jaccard"):
    """Return the Jaccard similarity or the containment of two sets."""
    if measure == "containment":
        return len(first & second) / min(len(first), len(second))
    return len(first & second) / len(first | second)


def mirrors(sites, threshold, min_paths, measure="jaccard", most=1):
    """Return {host: kept host} for sites {host: set of paths, or of (path, content)}, by stars over all pairs."""
    order = sorted(
        sites,
        key=lambda host: (
            -len({path[0] if isinstance(path, tuple) else path for path in sites[host]})
        ),
    )
    kept, found = [], {}
    for host in order:
        own = sites[host]
        paths = {path[0] if isinstance(path, tuple) else path for path in own}
        found[host] = host
        if len(paths) < min_paths:
            continue
        for other in kept:
            if threshold <= similarity(own, sites[other], measure) <= most:
                found[host] = other
                break
        else:
            kept.append(host)
    return found
