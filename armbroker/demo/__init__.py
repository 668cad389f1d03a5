"""The demo: an MQTT server, the service with three simulated arms, and a scripted publisher."""
