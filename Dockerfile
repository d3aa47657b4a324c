# The image of packaging/oci/build.sh for who has Docker and no Rust: the program is built in a container, from this clone.
#   docker build -t salver .
#   docker run --read-only -p 8080:8080 -v "$PWD/dist:/site:ro" salver       further flags stand behind it
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential cmake musl-tools \
    && rm -rf /var/lib/apt/lists/* \
    && rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /src
COPY . .
# The history is not copied: name the commit by --build-arg SALVER_COMMIT="$(git rev-parse HEAD)", or it is unknown.
ARG SALVER_COMMIT=
RUN packaging/binary.sh /out && mkdir -p /image/usr/bin /image/site && cp /out/salver /image/usr/bin/

# From here on it is packaging/oci/Containerfile.
FROM scratch
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /site
ENV SALVER_HOST=0.0.0.0 SALVER_PATH=/site SALVER_METRICS=9090
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/usr/bin/salver", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/salver", "serve"]
