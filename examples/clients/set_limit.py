"""Sends one SetTwistLinearSoftLimit to an arm with `ArmClient`, and says what became of it.

    ARMBROKER_USER=alice ARMBROKER_PASSWORD=secret python set_limit.py 127.0.0.1 1883 r12 0.2 request.id

The id of the request is written to a file before the request is sent, and removed when its end is known. Run it again
after a power cut or without an answer: the same request goes out with the same id, and is carried out once.
Ends with 0: applied; 1: refused, nothing changed; 2: wrong use; 3: nobody knows yet, run it again.
"""

import asyncio
import os
import sys
import uuid
from pathlib import Path

from armbroker import ArmClient, NoReplyError, NoServerError, OutcomeUnknownError, RefusedError

CONN = "py-example"
TRIES = 3
ANSWER_S = float(os.environ.get("ARMBROKER_ANSWER_S", "12"))
"""The service answers within 10 s of accepting."""
USAGE = "usage: ARMBROKER_USER=... [ARMBROKER_PASSWORD=...] set_limit.py HOST PORT ARM METRES_PER_SECOND ID_FILE"


def take_id(path: Path, arm: str, value: str) -> str:
    """The id in the file, or a new one, written to it."""
    if not path.exists():
        path.write_text(f"{uuid.uuid4()} {arm} {value}\n")
    request_id, *kept = path.read_text().split()
    if kept != [arm, value]:
        print(f"{path} holds another request whose end is not known", file=sys.stderr)
        sys.exit(2)
    return request_id


async def set_limit(url: str, arm: str, value: float, request_id: str) -> int:
    """Send the request until it is answered; the exit code."""
    user, password = os.environ["ARMBROKER_USER"], os.environ.get("ARMBROKER_PASSWORD")
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}
    try:
        async with ArmClient(url, user=user, conn=CONN, password=password) as client:
            reply = await client.call(arm, "SetTwistLinearSoftLimit", params, timeout=TRIES * ANSWER_S, id=request_id)
    except RefusedError as error:
        print(f"refused: {error.kind}: {error.error['message']}")
        return 1
    except (NoReplyError, NoServerError, OutcomeUnknownError):
        print("no answer: run it again")
        return 3
    if reply["stage"] != "applied":
        print(f"{reply['stage']}, not settled yet")
        return 3
    print(f"applied as revision {reply['rev']}{' (sent before)' if reply.get('duplicate') else ''}")
    return 0


def main() -> int:
    """Run it as the usage says; the exit code."""
    if len(sys.argv) != 6 or "ARMBROKER_USER" not in os.environ:
        print(USAGE, file=sys.stderr)
        return 2
    host, port, arm, value, file = sys.argv[1:]
    code = asyncio.run(set_limit(f"mqtt://{host}:{port}", arm, float(value), take_id(Path(file), arm, value)))
    if code != 3:
        Path(file).unlink()
    return code


if __name__ == "__main__":
    sys.exit(main())
