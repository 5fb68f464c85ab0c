# shellcheck shell=bash
# The images of scripts/cluster as archives that `ctr images import` reads, made without a container runtime: layers are
# archives of mmdebstrap and of tar, and the rest is JSON. Sourced by scripts/cluster after celllib/cell.sh and
# celllib/images.sh, and by clusterlib/inside for the names.

IMAGE_SMSC=smsc:try
IMAGE_POSTGRES=postgres:try
IMAGE_PAUSE=pause:try

# Writes an archive of one image. Arguments: file, name, the image's settings as JSON, layers.
image_archive() {
    local file=$1 name=$2 settings=$3 folder layer digests=() layers=()
    shift 3
    folder=$(mktemp -d "$TRIAL/image.XXXXXX")
    for layer in "$@"; do
        digests+=("\"sha256:$(sha256sum "$layer" | cut -d ' ' -f 1)\"")
        layers+=("\"${layer##*/}\"")
        ln "$layer" "$folder/"
    done
    printf '{"architecture": "%s", "os": "linux", "config": %s, "rootfs": {"type": "layers", "diff_ids": [%s]}}\n' \
        "$(dpkg --print-architecture)" "$settings" "$(IFS=, && echo "${digests[*]}")" >"$folder/config.json"
    printf '[{"Config": "config.json", "RepoTags": ["docker.io/library/%s"], "Layers": [%s]}]\n' \
        "$name" "$(IFS=, && echo "${layers[*]}")" >"$folder/manifest.json"
    tar --create --file="$file" --directory="$folder" --dereference .
    rm -r "$folder"
}

# A layer with what the Dockerfile copies: the binary, and the folder of the store.
image_layer_of() {
    local binary=$1 file=$2 folder
    folder=$(mktemp -d "$TRIAL/layer.XXXXXX")
    install -D --mode=0755 "$binary" "$folder/usr/bin/smsc"
    install -d --mode=0750 --owner=10001 --group=10001 "$folder/var/lib/smsc"
    # The folders that the base has keep their owners.
    tar --create --file="$file" --directory="$folder" usr/bin/smsc var/lib/smsc
    rm -r "$folder"
}

# All of them into the folder that is given: smsc.tar, postgres.tar and pause.tar. The second argument is the binary, or
# empty when smsc.tar is there already.
images_make() {
    local folder=$1 binary=$2 programs
    cell_tree "$TRIAL/debian.tar" "$IMAGE_SUITE" ca-certificates
    if [ -n "$binary" ]; then
        image_layer_of "$binary" "$TRIAL/smsc-layer.tar"
        image_archive "$folder/smsc.tar" "$IMAGE_SMSC" \
            '{"User": "10001:10001", "WorkingDir": "/var/lib/smsc", "Entrypoint": ["smsc"], "Cmd": ["serve"],
              "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "StopSignal": "SIGTERM"}' \
            "$TRIAL/debian.tar" "$TRIAL/smsc-layer.tar"
    fi
    # What holds the namespaces of a pod only has to stay.
    image_archive "$folder/pause.tar" "$IMAGE_PAUSE" '{"User": "65535:65535", "Entrypoint": ["/usr/bin/sleep", "infinity"]}' \
        "$TRIAL/debian.tar"
    rm "$TRIAL/debian.tar"
    cell_tree "$TRIAL/database.tar" "$IMAGE_SUITE" postgresql
    tar --create --file="$TRIAL/database-layer.tar" --directory=scripts/celllib/stand-ins --owner=0 --group=0 \
        --transform='s|^|usr/local/bin/entrypoint-|' postgres
    programs=$(tar --list --file="$TRIAL/database.tar" | sed -n 's|^\.\(/usr/lib/postgresql/[0-9]*/bin\)/initdb$|\1|p')
    image_archive "$folder/postgres.tar" "$IMAGE_POSTGRES" \
        '{"WorkingDir": "/tmp", "Entrypoint": ["entrypoint-postgres"], "Cmd": ["postgres"], "StopSignal": "SIGINT",
          "Env": ["PATH='"$programs"':/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]}' \
        "$TRIAL/database.tar" "$TRIAL/database-layer.tar"
    rm "$TRIAL"/*.tar
}
