"""The service with a fault: a request that holds `POISON` ends the process while it is decoded."""

import os
import signal

from armbroker.__main__ import main
from broker.accept import acceptor
from broker.accept.arrival import Arrival, try_decoding

POISON = b"a poisonous word"


def _deadly(arrival: Arrival) -> None:
    if POISON in arrival.message.payload:
        os.kill(os.getpid(), signal.SIGKILL)
    try_decoding(arrival)


if __name__ == "__main__":
    setattr(acceptor, "try_decoding", _deadly)  # noqa: B010 - a fault that is put in from outside
    main()
