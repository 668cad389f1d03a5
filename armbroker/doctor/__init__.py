"""`armbroker doctor`: what is wrong with an installation, proved on the running one. Nothing here can change an arm."""
