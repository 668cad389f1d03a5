"""Home Assistant, told by MQTT discovery which sensors the documents of the arms are; nothing here changes an arm."""
