"""Completions of bash and zsh, from the table of commands."""

from collections.abc import Iterable

from handlers.rpc_table import RPC_TABLE
from scripts.deb_commands import FILES, Entry, Option

_BASH = """\
# bash completion of armbroker.
_armbroker() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path= at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "$path/${{COMP_WORDS[at]}}" in
        {paths}) path+=/${{COMP_WORDS[at]}} ;;
        esac
    done
    local words=
    case "$path $before" in
{values}
    *) case "$path" in
{words}
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -o bashdefault -F _armbroker armbroker
"""
_ZSH = """\
#compdef armbroker
# zsh completion of armbroker.
_armbroker() {{
    local current=${{words[CURRENT]}} before=${{words[CURRENT-1]}} armpath= at found
    for ((at = 2; at < CURRENT; at++)); do
        case "$armpath/${{words[at]}}" in
        {paths}) armpath+=/${{words[at]}} ;;
        esac
    done
    found=
    case "$armpath $before" in
{values}
    *) case "$armpath" in
{words}
        esac ;;
    esac
    if [[ -n $found ]]; then
        compadd -- ${{=found}}
    fi
    if [[ $current != -* ]]; then
        _files
    fi
}}
if [[ ${{funcstack[1]}} == _armbroker ]]; then
    _armbroker "$@"
fi
"""


def bash(entries: Iterable[Entry]) -> str:
    """The function of bash."""
    return _filled(_BASH, entries, "words")


def zsh(entries: Iterable[Entry]) -> str:
    """The function of zsh; to be found as `_armbroker`."""
    return _filled(_ZSH, entries, "found")


def _values(option: Option) -> str:
    """The words that an option may have as its value; empty where the shell's files are meant."""
    return "" if option.value in FILES else " ".join(option.choices)


def _filled(template: str, entries: Iterable[Entry], variable: str) -> str:
    table = list(entries)
    values = []
    for entry in table:
        for option in entry.options:
            if option.value:
                where = "|".join(f'"{_path(entry)} {name}"' for name in option.names)
                values.append(f'    {where}) {variable}="{_values(option)}" ;;')
    words = [f'        "{_path(entry)}") {variable}="{" ".join(_words(entry))}" ;;' for entry in table]
    paths = "|".join(f'"{_path(entry)}"' for entry in table if entry.path)
    return template.format(paths=paths, values="\n".join(values), words="\n".join(words))


def _path(entry: Entry) -> str:
    return "".join(f"/{word}" for word in entry.path)


def _words(entry: Entry) -> list[str]:
    methods = sorted(RPC_TABLE) if entry.path == ("call",) else []
    options = [name for option in entry.options for name in option.names]
    helps = [] if "--help" in options else ["--help"]
    return [*entry.below, *options, *helps, *methods]
