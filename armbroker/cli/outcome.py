"""From what a command came to, to its exit code."""

import os
import sys
from collections.abc import Callable

from armbroker.cli.exits import Exit
from armbroker.client import ClientError, NoReplyError, NoServerError


def ended(command: Callable[[], Exit]) -> Exit:
    """Run a command; say on standard error why it did not come to its end."""
    try:
        return command()
    except NoReplyError as error:
        return _say(error, Exit.NO_ANSWER)
    except NoServerError as error:
        return _say(error, Exit.NO_SERVER)
    except ClientError as error:
        return _say(error, Exit.REFUSED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be written at the end
        return Exit.OK
    except (ValueError, OSError) as error:
        return _say(error, Exit.USAGE)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _say(error: Exception, code: Exit) -> Exit:
    sys.stderr.write(f"armbroker: {error}\n")
    return code
