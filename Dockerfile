# The service in a container: `docker build -t armbroker .`; docs: deploy/containers.md. The package is made in the first
# stage and its files are all that the second one takes. Behind a mirror: --build-arg PIP_INDEX_URL=...
FROM debian:bookworm-slim AS package
ARG PIP_INDEX_URL PIP_FIND_LINKS PIP_CERT
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3-venv
COPY . /source
RUN COMPRESS="gzip -z1" /source/scripts/build-deb /made \
 && dpkg-deb -x /made/*.deb /image

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* \
 && groupadd --gid 10001 armbroker \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/armbroker --shell /usr/sbin/nologin armbroker \
 && install -d -o 10001 -g 10001 -m 700 /var/lib/armbroker
COPY --from=package /image/usr/lib/armbroker /usr/lib/armbroker
COPY --from=package /image/usr/bin/armbroker /usr/bin/armbroker
# Nothing but the store is written: run it with a root that is read-only.
VOLUME /var/lib/armbroker
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["armbroker", "health"]
ENTRYPOINT ["armbroker"]
CMD ["run", "--config", "/etc/armbroker/fleet.toml"]
