"""`armbroker web`: one read-only page of the fleet, served over HTTP and fed over MQTT."""
