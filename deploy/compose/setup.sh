#!/bin/sh
# Certificates and passwords of compose.yaml, into FOLDER, once: `setup.sh FOLDER HOST USER...`. What is there stays; the
# access rules are written anew, by fleet.toml beside this script.
# Each user's password is in FOLDER/armbroker/USER.password; Mosquitto (account 1883) gets hashes alone.
set -eu
umask 077
folder=$1 host=$2
shift 2
mosquitto=1883 service=10001

install -d -m 755 "$folder"
install -d -m 700 "$folder/authority"
install -d -m 700 -o "$mosquitto" -g "$mosquitto" "$folder/mosquitto"
install -d -m 700 -o "$service" -g "$service" "$folder/armbroker"

if [ ! -e "$folder/ca.crt" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=armbroker compose CA" \
    -keyout "$folder/authority/ca.key" -out "$folder/ca.crt" 2>/dev/null
  chmod 644 "$folder/ca.crt"
fi
if [ ! -e "$folder/server.crt" ]; then
  key=$folder/mosquitto/server.key
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$host" -keyout "$key" -out /tmp/server.csr \
    2>/dev/null
  echo "subjectAltName=DNS:$host,DNS:localhost,IP:127.0.0.1" > /tmp/server.ext
  openssl x509 -req -in /tmp/server.csr -CA "$folder/ca.crt" -CAkey "$folder/authority/ca.key" -days 825 \
    -extfile /tmp/server.ext -out "$folder/server.crt" 2>/dev/null
  chmod 644 "$folder/server.crt"
  chown "$mosquitto:$mosquitto" "$key"
fi
for user in "$@"; do
  [ -e "$folder/armbroker/$user.password" ] || openssl rand -hex 16 > "$folder/armbroker/$user.password"
  chown "$service:$service" "$folder/armbroker/$user.password"
done

armbroker acl --config "$(dirname "$0")/fleet.toml" > "$folder/mosquitto/armbroker.acl"

# What mosquitto_passwd writes: PBKDF2 with SHA-512, which the image of the service can do without it.
/usr/lib/armbroker/bin/python3 -I - "$folder" "$@" > "$folder/mosquitto/passwords" <<'END'
import base64, hashlib, os, pathlib, sys

folder, *users = sys.argv[1:]
for user in users:
    password = (pathlib.Path(folder) / "armbroker" / f"{user}.password").read_bytes().strip()
    salt, rounds = os.urandom(12), 101
    key = hashlib.pbkdf2_hmac("sha512", password, salt, rounds)
    print(f"{user}:$7${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}")
END
chown "$mosquitto:$mosquitto" "$folder/mosquitto/passwords" "$folder/mosquitto/armbroker.acl"
echo "passwords: $folder/armbroker/USER.password, certificate authority: $folder/ca.crt"
