#   docker build -t smsc:0.2.0 \
#     --build-arg SMSC_COMMIT=$(git rev-parse --short=12 HEAD) \
#     --build-arg SMSC_CREATED=$(git log -1 --format=%cI) \
#     --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) .
#
# The repository's history is not copied, so the commit that `smsc --version` and the labels name is an argument.
# scripts/sbom lists what is in the binary.
#
# The versions are pinned by tag; scripts/pin-images prints arguments with their digests, for a build that can be
# repeated bit by bit. Dependencies come as Cargo.lock says.
ARG RUST_IMAGE=rust:1.95.0-slim-trixie
ARG RUNTIME_IMAGE=debian:13.2-slim

FROM ${RUST_IMAGE} AS build
# SQLite and ring are C; everything else is Rust. The slim image brings gcc and libc's headers.
WORKDIR /build
COPY . .
ARG SOURCE_DATE_EPOCH=0
ARG SMSC_COMMIT=
ENV SMSC_COMMIT=${SMSC_COMMIT}
ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} \
    CARGO_INCREMENTAL=0 \
    CARGO_PROFILE_DIST_STRIP=debuginfo \
    RUSTFLAGS="--remap-path-prefix=/build=. --remap-path-prefix=/usr/local/cargo=cargo"
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --profile dist --locked --bin smsc \
    && install -D --mode=0755 target/dist/smsc /out/usr/bin/smsc \
    && install -d --mode=0750 --owner=10001 --group=10001 /out/var/lib/smsc \
    && install -D --mode=0644 /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ca-certificates.crt \
    && install -D --mode=0644 LICENSE-APACHE LICENSE-MIT --target-directory=/out/usr/share/doc/smsc \
    && find /out -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

FROM ${RUNTIME_IMAGE}
ARG RUNTIME_IMAGE
ARG SMSC_COMMIT=
ARG SMSC_CREATED=
LABEL org.opencontainers.image.title="smsc" \
      org.opencontainers.image.description="A store-and-forward Short Message Service Centre that answers only after an fsync" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="${SMSC_COMMIT}" \
      org.opencontainers.image.created="${SMSC_CREATED}" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/${RUNTIME_IMAGE}"
# Nothing here needs another user's rights.
RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=build /out/ /
# Relative paths of the configuration are below this folder: keep it on a volume. Nothing of the
# configuration is set here, for variables go before the file; so without a file say
# -e SMSC_SMPP__LISTEN=0.0.0.0:2775 -e SMSC_HTTP__LISTEN=0.0.0.0:8080 for the demo.
WORKDIR /var/lib/smsc
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
VOLUME /var/lib/smsc
EXPOSE 2775 8080
# Drains on SIGTERM; give it time: docker run --stop-timeout 60.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["smsc", "health", "--live"]
ENTRYPOINT ["smsc"]
CMD ["serve"]
