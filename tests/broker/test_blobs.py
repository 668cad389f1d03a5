"""Records as bytes of the store."""

import json

from broker.blobs import pack_description, pack_setters, unpack_description, unpack_setters
from handlers.state.provenance import NOBODY, Setter, Stamp
from limits.kinova_models import MODELS
from schema.arms import Description, JointInfo


def test_descriptions_come_back_as_they_were() -> None:
    description = Description(
        model="gen3_7dof",
        serial="S1",
        firmware="1",
        joints=(JointInfo("joint_1", "continuous"), JointInfo("joint_2", "revolute")),
        hard_limits=MODELS["gen3_7dof"].hard,
        hard_source="hard:device",
        payload_max=4.0,
        modes_settable=(1, 2),
        notes=("a note",),
    )
    blob = pack_description(description, 7)
    assert unpack_description(blob) == (description, 7)
    older = {key: value for key, value in json.loads(blob).items() if key != "told_at_us"}
    assert unpack_description(json.dumps(older).encode()) == (description, 0)


def test_who_set_a_value_comes_back_number_by_number() -> None:
    desired = Setter(Stamp("alice/plc-3", 5), {"max_velocity[0]": Stamp("bob/hmi", 2)})
    assert unpack_setters(pack_setters((desired, NOBODY))) == (desired, NOBODY)
    assert unpack_setters(b"") == (NOBODY, NOBODY)
