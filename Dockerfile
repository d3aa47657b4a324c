# The server alone: mount a site at /site, or copy one there in an image that is made from this.
#   docker build -t salver .                                     in a clone of Salver
#   docker run -p 8080:8080 -v "$PWD/dist:/site:ro" salver       further flags stand behind it
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p salver

FROM debian:bookworm-slim
COPY --from=build /src/target/release/salver /usr/local/bin/salver
RUN mkdir /site
USER nobody
ENV SALVER_HOST=0.0.0.0 SALVER_PATH=/site
EXPOSE 8080
ENTRYPOINT ["salver", "serve"]
