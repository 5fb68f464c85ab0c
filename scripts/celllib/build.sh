# shellcheck shell=bash
# The image by dockerd and by buildah, each with the real cargo step, and what must be true of both. For scripts/container.

RUST=$(image_name RUST_IMAGE)
DEBIAN=$(image_name RUNTIME_IMAGE)
IMAGE=smsc:0.2.0
# A machine may not let its limits be raised, as builders and runtimes do.
FILES=$(ulimit -Hn):$(ulimit -Hn)
LIMITS=(--ulimit "nofile=$FILES" --ulimit "nproc=$(ulimit -Hu | sed s/unlimited/-1/)")
# As docs/install.md says it.
ARGUMENTS=(
    --build-arg "SMSC_COMMIT=$(git rev-parse --short=12 HEAD)"
    --build-arg "SMSC_CREATED=$(git log -1 --format=%cI)"
    --build-arg "SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)"
)

buildah() { cell_run buildah --storage-driver vfs "$@"; }

build_bases() {
    say "the base images $RUST and $DEBIAN"
    docker image inspect "$DEBIAN" >/dev/null 2>&1 || docker import /images/debian.tar "$DEBIAN"
    [ -z "$BINARY" ] || return 0
    docker image inspect "$RUST" >/dev/null 2>&1 || docker import "${IMAGE_RUST[@]}" /images/rust.tar "$RUST"
}

# What a build says is only of use when it fails; FOLDER/NAME-build.log has it meanwhile.
build_noted() {
    local name=$1
    shift
    "$@" >"$FOLDER/$name-build.log" 2>&1 || {
        tail -n 40 "$FOLDER/$name-build.log" >&2
        fail "$name does not build the image"
    }
}

build_by_dockerd() {
    build_noted dockerd docker build --progress plain --network none --tag "$IMAGE" "${ARGUMENTS[@]}" /src
    docker run --rm "$IMAGE" --version
}

# The Dockerfile with what its first stage gives made of a binary: all of the image but the build is as it would be.
build_of_binary() {
    local out=$FOLDER/out
    say "dockerd makes the image of $1"
    rm -rf "$out"
    install -D --mode=0755 "$1" "$out/out/usr/bin/smsc"
    install -d --mode=0750 --owner=10001 --group=10001 "$out/out/var/lib/smsc"
    install -D --mode=0644 "$TREE/etc/ssl/certs/ca-certificates.crt" "$out/out/etc/ssl/certs/ca-certificates.crt"
    install -D --mode=0644 LICENSE-APACHE LICENSE-MIT --target-directory="$out/out/usr/share/doc/smsc"
    tar --create --directory="$out" . | docker import - smsc-binary >/dev/null
    # A context goes before the stage of its name.
    build_noted dockerd docker build --progress plain --network none --build-context build=docker-image://smsc-binary \
        --tag "$IMAGE" "${ARGUMENTS[@]}" /src
    docker run --rm "$IMAGE" --version
}

# Images in the format of OCI have no HEALTHCHECK. A chroot, for there is no network to be set up.
build_by_buildah() {
    build_noted buildah buildah build --isolation chroot --format docker --pull=never "${LIMITS[@]}" --tag "$IMAGE" "${ARGUMENTS[@]}" /src
}

buildah_bases() {
    local base
    for base in "$RUST" "$DEBIAN"; do
        buildah inspect --type image "$base" >/dev/null 2>&1 && continue
        docker save --output /images/base.tar "$base"
        buildah pull --quiet docker-archive:/images/base.tar
        cell_run rm /images/base.tar
    done
}

# Both at once: half of a build is one thread of the linker.
build_by_both() {
    local by_buildah
    buildah_bases
    say "dockerd and buildah build"
    build_by_buildah &
    by_buildah=$!
    build_by_dockerd
    echo "dockerd after $SECONDS s"
    wait "$by_buildah"
    echo "buildah after $SECONDS s"
    buildah push --quiet "$IMAGE" docker-archive:/images/smsc.tar:smsc:buildah
    docker load --quiet --input /images/smsc.tar
    cell_run rm /images/smsc.tar
    docker run --rm smsc:buildah --version
}

# What an image says of itself, without what a builder adds.
build_configuration() {
    docker image inspect --format '{{range $key, $value := .Config.Labels}}{{$key}}={{$value}}
{{end}}{{json .Config.User}} {{json .Config.WorkingDir}} {{json .Config.Entrypoint}} {{json .Config.Cmd}}
{{json .Config.StopSignal}} {{json .Config.ExposedPorts}} {{json .Config.Volumes}} {{json .Config.Healthcheck}}' "$1" |
        grep -v '^io\.buildah\.version='
}

build_check() {
    local image=$1 found
    found=$(docker run --rm --user 0 --entrypoint find "$image" / -xdev -type f -perm /6000)
    [ -z "$found" ] || fail "$image has the setuid bit: $found"
    found=$(docker run --rm --entrypoint id "$image" -u)
    [ "$found" = 10001 ] || fail "$image runs as $found"
    # A binary that was given may be of another commit.
    [ -n "$BINARY" ] || docker run --rm "$image" --version | grep -q "$(git rev-parse --short=12 HEAD)" ||
        fail "$image does not name its commit"
}

# Two builds of the same source are the same, octet by octet, whoever builds.
build_compare() {
    local image
    for image in "$@"; do
        # The whole of what the build gives: names, owners, times and octets.
        docker run --rm --user 0 --entrypoint sh "$image" -c 'sha256sum /usr/bin/smsc
            cd / && find usr/bin/smsc usr/share/doc/smsc etc/ssl/certs/ca-certificates.crt \
                -printf "%p %U:%G %m %s %T@\n" | sort && stat --format "%n %u:%g %a" var/lib/smsc' \
            >"$FOLDER/${image//[^a-z]/-}.files"
        build_configuration "$image" >"$FOLDER/${image//[^a-z]/-}.configuration"
        head -n 1 "$FOLDER/${image//[^a-z]/-}.files" | sed "s/\$/ of $image/"
    done
    for image in files configuration; do
        diff "$FOLDER/${1//[^a-z]/-}.$image" "$FOLDER/${2//[^a-z]/-}.$image" || fail "$1 and $2 differ"
    done
    cat "$FOLDER/${1//[^a-z]/-}.files" "$FOLDER/${1//[^a-z]/-}.configuration"
    echo "$1 and $2 are the same"
}
