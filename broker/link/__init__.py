"""The connection to the MQTT server."""
