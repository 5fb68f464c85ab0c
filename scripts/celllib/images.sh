# shellcheck shell=bash
# What stands in for the images of registries, made of Debian's packages: an archive of a tree each, for `docker import`.
# For scripts/container and scripts/cluster, which source cell.sh first.
#
#   image_debian ARCHIVE     what the last FROM of the Dockerfile starts from
#   image_rust ARCHIVE       what its first FROM starts from: this machine's Rust, and the crates of Cargo.lock
#   image_services ARCHIVE   PostgreSQL, Redis, Prometheus and Python with gRPC: stand-ins/ makes images of it
#   image_name ARGUMENT      the name that the Dockerfile gives to an ARG, such as RUST_IMAGE
#   IMAGE_RUST               what the configuration of the image of Rust adds, as options of `docker import`

IMAGE_SUITE=trixie
# As the image of Rust has it.
# shellcheck disable=SC2034 # used by those who source this
IMAGE_RUST=(
    --change "ENV RUSTUP_HOME=/usr/local/rustup"
    --change "ENV CARGO_HOME=/usr/local/cargo"
    --change "ENV PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

image_name() {
    sed -n "s/^ARG $1=//p" Dockerfile
}

image_debian() {
    cell_tree "$1" "$IMAGE_SUITE"
}

image_services() {
    cell_tree "$1" "$IMAGE_SUITE" postgresql redis-server prometheus python3-minimal python3-grpcio
}

image_rust() {
    local sysroot vendor version wanted
    sysroot=$(rustc --print sysroot)
    version=$(rustc --version | cut -d' ' -f2)
    wanted=$(image_name RUST_IMAGE)
    [[ $wanted == "rust:$version"-* ]] || echo "Rust is $version in the stand-in for $wanted"
    # The step has no network: the crates come along, beside the folder that the Dockerfile has its cache at. Cargo checks
    # each against Cargo.lock, as it does with those of a registry.
    vendor=${1%.tar}-crates
    cargo vendor --quiet --locked --versioned-dirs "$vendor" >/dev/null
    # The quotes of the hook are its own shell's; $1 is the tree.
    # shellcheck disable=SC2016
    SYSROOT=$sysroot VENDOR=$vendor cell_tree "$1" "$IMAGE_SUITE" gcc libc6-dev ca-certificates -- \
        --customize-hook='set -e
            chain=usr/local/rustup/toolchains/stand-in cargo=usr/local/cargo
            mkdir -p "$1/$chain" "$1/$cargo/bin"
            tar --create --directory="$SYSROOT" --exclude=share --exclude=libexec . | tar --extract --directory="$1/$chain"
            for tool in cargo rustc; do ln -s "/$chain/bin/$tool" "$1/$cargo/bin/$tool"; done
            mv "$VENDOR" "$1/$cargo/vendor"
            printf "[source.crates-io]\nreplace-with = \"vendor\"\n[source.vendor]\ndirectory = \"/%s/vendor\"\n" \
                "$cargo" >"$1/$cargo/config.toml"'
}
