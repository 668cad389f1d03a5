import pytest

from schema.codecs.plain import from_plain, to_plain
from schema.errors import BrokerError
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap

GAINS = JointSafetyGains(2.0, -2.0, 20.0, 5.0)


def test_maps_are_equal_and_hash_alike_whatever_their_order() -> None:
    safety = [
        JointSafetyMap({"a": GAINS, "b": JointSafetyGains()}),
        JointSafetyMap({"b": JointSafetyGains(), "a": GAINS}),
    ]
    parameters = [JointParameterMap({"a": True, "b": 1.5}), JointParameterMap({"b": 1.5, "a": True})]
    assert len(set(safety)) == len(set(parameters)) == 1
    assert safety[0] != JointSafetyMap({"a": GAINS})


def test_safety_by_joint_is_an_object_of_records() -> None:
    document = to_plain(JointSafetyMap({"joint_1": GAINS}))
    gains = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}
    assert document == {"joints": {"joint_1": gains}}
    assert from_plain(document, JointSafetyMap) == JointSafetyMap({"joint_1": GAINS})


def test_a_parameter_is_a_flag_or_a_number() -> None:
    document = {"parameters": {"joint_limits.a.has_jerk_limits": False, "joint_limits.a.max_jerk": 3}}
    record = from_plain(document, JointParameterMap)
    assert record == JointParameterMap({"joint_limits.a.has_jerk_limits": False, "joint_limits.a.max_jerk": 3.0})
    assert to_plain(record) == document


def test_a_parameter_of_another_type_is_named() -> None:
    with pytest.raises(BrokerError, match=r"params\.parameters\.\"joint_limits.a.max_jerk\": \"fast\" is a string"):
        from_plain({"parameters": {"joint_limits.a.max_jerk": "fast"}}, JointParameterMap, "params")
