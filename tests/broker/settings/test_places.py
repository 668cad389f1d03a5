from broker.settings.places import NOWHERE, Fault, Places, dotted

LINES = {("mqtt",): 4, ("mqtt", "url"): 5, ("arm",): 9, ("arm", 0): 9, ("arm", 0, "id"): 10, ("root",): 1}
PLACES = Places("fleet.toml", LINES, {("mqtt", "user"): "ARMBROKER_MQTT_USER"})


def test_a_path_is_written_as_in_a_file() -> None:
    assert dotted(("arm", 0, "options", "latency_ms")) == "arm[0].options.latency_ms"
    assert dotted(("clients", "a b", "clock")) == 'clients."a b".clock'
    assert dotted((3,)) == "[3]"


def test_a_setting_stands_on_its_line_or_that_of_the_table_around_it() -> None:
    assert PLACES.of(("arm", 0, "id")) == "fleet.toml:10"
    assert PLACES.of(("arm", 0, "model")) == "fleet.toml:9"
    assert PLACES.of(("mqtt", "identity")) == "fleet.toml:4"
    assert PLACES.of(("store", "dir")) == "fleet.toml"
    assert PLACES.of(("mqtt", "user")) == "ARMBROKER_MQTT_USER"
    assert NOWHERE.of(("root",)) == ""


def test_one_error_tells_all_faults_in_the_order_of_the_file() -> None:
    faults = [Fault(("arm", 0, "model"), "second"), Fault(("root",), "first"), Fault(("store",), "nowhere")]
    error = PLACES.error(faults)
    assert str(error).splitlines() == ["fleet.toml: nowhere", "fleet.toml:1: first", "fleet.toml:9: second"]
    assert str(NOWHERE.error(faults[:1])) == "second"
