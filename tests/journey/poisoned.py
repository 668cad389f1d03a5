"""The service with a fault: a request that holds `POISON` ends the process while it is decoded."""

import os
import signal

from armbroker.__main__ import main
from broker.accept import arrival
from schema.codecs import codec_for
from schema.codecs.codec import Codec

POISON = b"a poisonous word"


def _deadly(content_type: str, payload: bytes) -> Codec:
    if POISON in payload:
        os.kill(os.getpid(), signal.SIGKILL)
    return codec_for(content_type, payload)


if __name__ == "__main__":
    setattr(arrival, "codec_for", _deadly)  # noqa: B010 - a fault that is put in from outside
    main()
