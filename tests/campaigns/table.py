"""The campaigns, by name."""

from collections.abc import Callable
from typing import NamedTuple

from tests.campaigns import (
    approvals,
    bits,
    clock,
    disk,
    duplicate,
    fleet,
    flood,
    fuzz,
    kill,
    partition,
    plans,
    power,
    restore,
    server,
    syscall,
    together,
    two,
    wal,
)
from tests.campaigns.figures import Figures


class CampaignRow(NamedTuple):
    """One campaign.

    `run(trials, seed, defect)` does it; with a defect of `DEFECTS` it has to find something wrong: `control` is the one
    that it is tried with. `trials` are run unless told otherwise, `short` of them in the test suite.
    """

    about: str
    run: Callable[[int, int, str], Figures]
    control: str
    trials: int
    short: int


CAMPAIGNS: dict[str, CampaignRow] = {
    "flood": CampaignRow("one user sends 2,400 to 4,400 requests a second", flood.run, "admit_all", 8, 1),
    "power": CampaignRow("power cuts: writes lost and torn that were not synced", power.run, "sync_off", 1_000, 8),
    "disk": CampaignRow("errors of the disk, and a full one, while it serves", disk.run, "believe_disk", 100, 3),
    "bits": CampaignRow("one bit of a store flipped at rest", bits.run, "believe_rows", 2_000, 25),
    "kill": CampaignRow("SIGKILL at random times under load, also while it starts", kill.run, "commit_late", 500, 3),
    "all": CampaignRow(
        "everything at once: kills, lost links and servers, faulty arms", together.run, "commit_late", 300, 8
    ),
    "fleet": CampaignRow(
        "ends of overrides and batches under kills, lost MQTT servers, arms away", fleet.run, "return_nothing", 200, 6
    ),
    "approvals": CampaignRow(
        "proposals of a second person under kills and lost MQTT servers", approvals.run, "approval_unstored", 200, 6
    ),
    "plans": CampaignRow(
        "groups, rollouts, reversals and approvals under kills, lost MQTT servers, arms that fail",
        plans.run,
        "rows_unstored",
        200,
        6,
    ),
    "fuzz": CampaignRow(
        "packets of every malformed and illegal kind on both links", fuzz.run, "strict_reader", 1_000_000, 8_000
    ),
    "wal": CampaignRow("kills, then a log or file that is cut, removed or older", wal.run, "loss_unseen", 108, 3),
    "clock": CampaignRow(
        "the clock jumps by 1 h, 10 years, 5 s, and back, also over a start", clock.run, "clock_believed", 60, 2
    ),
    "restore": CampaignRow("backups under load, restored after the plant went on", restore.run, "epochs_again", 50, 1),
    "two": CampaignRow("two services on one root", two.run, "alone", 24, 2),
    "partition": CampaignRow(
        "the network to the MQTT server cut, refused, half open, held one way", partition.run, "owe_nothing", 200, 8
    ),
    "duplicate": CampaignRow(
        "repeats, redeliveries and copies that overtake one another", duplicate.run, "forget_ids", 4_000, 60
    ),
    "server": CampaignRow(
        "the MQTT server killed, wiped, or put back to a save of seconds before", server.run, "never_read_back", 120, 2
    ),
    "syscall": CampaignRow("SIGKILL at the n-th write, sync or send", syscall.run, "commit_late", 200, 2),
}
