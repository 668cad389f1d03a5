"""The files of the page, by path; read once."""

import hashlib
from importlib.resources import files
from typing import NamedTuple

_HTML, _CSS, _JS, _SVG = (
    "text/html; charset=utf-8",
    "text/css; charset=utf-8",
    "text/javascript; charset=utf-8",
    "image/svg+xml",
)
FILES: dict[str, tuple[str, str]] = {
    "/": ("index.html", _HTML),
    "/page.css": ("page.css", _CSS),
    "/icon.svg": ("icon.svg", _SVG),
    **{
        f"/{name}.js": (f"{name}.js", _JS)
        for name in ("app", "compare", "detail", "dom", "events", "fleet", "plot", "table")
    },
}
"""Path: file, Content Type."""


class PageFile(NamedTuple):
    """One file; `tag` is another one when its bytes are."""

    body: bytes
    kind: str
    tag: str


def page_files() -> dict[str, PageFile]:
    """All files of the page, by path."""
    folder = files("armbroker.web") / "page"
    found: dict[str, PageFile] = {}
    for path, (name, kind) in FILES.items():
        body = (folder / name).read_bytes()
        found[path] = PageFile(body, kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"')
    return found
