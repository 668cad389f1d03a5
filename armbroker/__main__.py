"""The command `armbroker`, also `python -m armbroker`."""

import gc
import sys

from armbroker.cli import large_pages
from armbroker.cli.exits import Exit


def main() -> None:
    """Run the command line; ends the process with an exit code as `armbroker.cli.exits` says."""
    try:
        _dispatch(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    finally:
        gc.freeze()  # at its end the interpreter would look for garbage among all that there is: it goes anyway


def _dispatch(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        try:
            large_pages.ask()
        except large_pages.NoValueError as error:
            sys.stderr.write(f"armbroker run: {error}\n")
            sys.exit(Exit.USAGE)
        gc.disable()  # what is loaded stays; collections begin with what is served
        sys.modules["rich"] = None  # type: ignore[assignment] # None forbids it: structlog would load it for a console
        from armbroker.cli.run import run  # noqa: PLC0415 - the service does not load what only the other commands need

        sys.exit(run(arguments[1:]))
    if arguments[:1] == ["limits"]:
        from armbroker.cli.limits import app as limits  # noqa: PLC0415 - nor do files of limits need what speaks to MQTT

        limits(arguments[1:], prog_name="armbroker limits")
    from armbroker.cli.commands import app  # noqa: PLC0415 - likewise

    app(prog_name="armbroker")


if __name__ == "__main__":
    main()
