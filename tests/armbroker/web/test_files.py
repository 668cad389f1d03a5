import re
from importlib.resources import files

from armbroker.web.files import FILES, page_files

MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|\.cssText")
ELSEWHERE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]", re.IGNORECASE)


def text_of(path: str) -> str:
    return page_files()[path].body.decode()


def test_every_file_of_the_page_is_served() -> None:
    folder = files("armbroker.web") / "page"
    assert {name for name, _ in FILES.values()} == {file.name for file in folder.iterdir()}


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = text_of("/")
    assert re.findall(r"<script(?![^>]*src=)|<style|\son[a-z]+=|\sstyle=|javascript:", page) == []
    for path in FILES:
        text = re.sub(r"^\s*//.*$|/\*\*.*?\*/", "", text_of(path), flags=re.MULTILINE)
        assert ELSEWHERE.findall(text) == [], path


def test_no_text_of_the_fleet_can_become_markup() -> None:
    scripts = [path for path in FILES if path.endswith(".js")]
    assert {path: MARKUP.findall(text_of(path)) for path in scripts} == {path: [] for path in scripts}


def test_every_script_that_is_imported_is_there_and_loaded_early() -> None:
    scripts = {path for path in FILES if path.endswith(".js")}
    imported = {f"/{name}" for path in scripts for name in re.findall(r'from "\./([a-z]+\.js)"', text_of(path))}
    early = {f"/{name}" for name in re.findall(r'modulepreload" href="([a-z]+\.js)"', text_of("/"))}
    assert imported == early == scripts - {"/app.js"}
