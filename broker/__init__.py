"""Floor 4, the shell: MQTT, tasks, time and files."""
