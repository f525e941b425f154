"""Normalise identifiers of photos, observations and addresses to one canonical key.

A key is `kind:value`. Kinds are `photo` and `observation` (numbers or UUIDs of iNaturalist, whose partner sites share
them), `occurrence` (numbers of GBIF) and `url` (all other addresses).
"""

import re
from typing import Literal, get_args
from urllib.parse import unquote, urlsplit

Kind = Literal["photo", "url", "observation", "occurrence"]
IDENTIFIER_KINDS: tuple[Kind, ...] = get_args(Kind)
PICTURE_KINDS = ("photo", "url")
PARTNERS = frozenset(
    {
        *("inaturalist.org", "inaturalist.ca", "inaturalist.nz", "inaturalist.lu", "inaturalist.se"),
        *("inaturalist.laji.fi", "inaturalist.mma.gob.cl", "inaturalist.ala.org.au", "naturalista.mx"),
        *("naturalista.uy", "argentinat.org", "biodiversity4all.org"),
    }
)
_OPEN_DATA = "inaturalist-open-data"
_ADDRESSES = (
    *("url", "uri", "link", "href", "reference", "identifier", "occurrenceid", "photo", "image", "media", "source"),
    *("file", "path", "observation"),
)
_GBIF = ("gbif.org", "api.gbif.org")
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAMED = re.compile(rf"(?:^|/)(photo|observation)s/(?:({UUID})|0*(\d+))(?![0-9a-z_])", re.IGNORECASE)
_MEDIA = re.compile(r"/occurrence/0*(\d+)(/media/[0-9a-z]+)?", re.IGNORECASE)
_WHOLE = re.compile(rf"(?:({UUID})|0*(\d+)(?:\.0*)?)(?:\.[a-z]{{3,4}})?", re.IGNORECASE)
_KEY = re.compile(rf"({'|'.join(IDENTIFIER_KINDS)}):(.+)", re.DOTALL)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?/", re.IGNORECASE)
_NESTED = re.compile(r"https?:/+", re.IGNORECASE)
_PICTURE = re.compile(r"\.(?:avif|gif|jpe?g|png|tiff?|webp)/*$", re.IGNORECASE)
_STORED = re.compile(
    r"(?:^|.*/)(photos/[0-9a-f-]+)/(?:original|large|medium|small|square|thumb)\.[a-z]{3,4}", re.IGNORECASE | re.DOTALL
)


def canonical_key(text: str, kind: Kind | None = None) -> str:
    """Return the canonical key of an identifier, "" for text that is none; a key is returned unchanged.

    The kind of an address follows from the address, whatever its host, size, scheme, query and trailing slash. The kind
    of a number, UUID or other text is `kind`, which follows from its column; without a kind the result is "".

    >>> canonical_key("https://static.inaturalist.org/photos/17/medium.jpg?1545")
    'photo:17'
    >>> canonical_key("inaturalist-open-data.s3.amazonaws.com/photos/17/original.jpeg")
    'photo:17'
    >>> canonical_key("http://www.Example.org/a.JPG?size=2"), canonical_key("17"), canonical_key("17.0", "observation")
    ('url:example.org/a.JPG', '', 'observation:17')
    """
    text = text.strip()
    if key := _KEY.fullmatch(text):
        return _key_of_kind(text, key[1], key[2].strip())
    if _SCHEME.match(text) or _HOST.match(text):
        return _key_of_address(text)
    if (stored := _STORED.fullmatch(text)) and (key_in_path := _last_key_in_path(stored[1])):
        return key_in_path
    return _key_of_kind(text, kind, text) if kind and kind != "url" and text else ""


def _key_of_kind(text: str, kind: str, value: str) -> str:
    """Return the key of a value whose kind is known."""
    if kind == "url":
        return text
    whole = _WHOLE.fullmatch(value)
    return f"{kind}:{(whole[1] or whole[2] if whole else value).lower()}" if value else ""


def _last_key_in_path(path: str) -> str:
    """Return the key of the last photo or observation that a path names."""
    matches = [*_NAMED.finditer(path)][-1:]
    return f"{matches[0][1].lower()}:{(matches[0][2] or matches[0][3]).lower()}" if matches else ""


def _key_of_address(text: str) -> str:
    split = _split(text)
    if split is None:
        return ""
    host, path, query = split
    if host in PARTNERS or host.endswith(".inaturalist.org") or _OPEN_DATA in f"{host}{path}":
        if key := _last_key_in_path(path):
            return key
    elif host in _GBIF and (media := _MEDIA.search(path)):
        rest = f"/occurrence/{media[1]}{media[2].lower()}" if media[2] else ""
        return f"url:{_GBIF[0]}{rest}" if rest else f"occurrence:{media[1]}"
    end = "" if not query or _PICTURE.search(path) else f"?{query}"
    return f"url:{host}{path.rstrip('/')}{end}".rstrip()


def _split(text: str) -> tuple[str, str, str] | None:
    """Return host, path and query of an address; of an archived copy, those of the original address."""
    try:
        parts = urlsplit(text if _SCHEME.match(text) else f"//{text}")
        host, port = (parts.hostname or "").removeprefix("www.").rstrip("."), parts.port
    except ValueError:
        return None
    path = unquote(parts.path)
    inner = [*_NESTED.finditer(path)][-1:]
    if inner:
        query = f"?{parts.query}" if parts.query else ""
        return _split(f"http://{path[inner[0].end() :]}{query}")
    host_name = host if port in (None, 80, 443) else f"{host}:{port}"
    return (host_name, path, parts.query) if host else None


def column_kind(column: str) -> Kind | None:
    """Return the kind of the bare numbers of a column by its name, None if unknown, as for a plain `id`."""
    name = _normalised(column)
    if not name.endswith(("id", "ids", "uuid", "key")):
        return None
    if "photo" in name:
        return "photo"
    if "observation" in name or name.startswith("obs"):
        return "observation"
    return "occurrence" if name.startswith("gbif") else None


def may_hold_identifiers(column: str) -> bool:
    """Return whether a column may hold identifiers or addresses, by its name."""
    return column_kind(column) is not None or any(word in _normalised(column) for word in _ADDRESSES)


def _normalised(column: str) -> str:
    return re.sub(r"[\W_]", "", column.casefold())
