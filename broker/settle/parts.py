"""What carries out changes of single slots, for those who carry out more."""

from typing import NamedTuple

from broker.record.ledger import Ledger
from broker.settle.endings import Endings
from broker.settle.exchange import Exchange
from broker.settle.fatal_reads import FatalReads
from broker.settle.obstacles import Obstacles
from broker.settle.parking import Parking


class Parts(NamedTuple):
    """The parts that every change goes through."""

    ledger: Ledger
    endings: Endings
    exchange: Exchange
    obstacles: Obstacles
    parking: Parking
    fatal_reads: FatalReads
