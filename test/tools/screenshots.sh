#!/usr/bin/env bash
# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# screenshots.sh CACHE [DATA]: makes the images in docs/images that show real data: Prometheus' own page,
# and the rows of the dashboard as test/screenshots draws them. DATA is a directory for what Prometheus
# stores; if it is there, it is shown, and otherwise filled first, which takes MINUTES (16).
#
# Needs Debian's chromium, node and npm, and OTELCOL_BIN. Prometheus' page comes from Debian's package,
# which is not installed: here it lies over /usr/share, in namespaces of this script's own.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cache=$1
data=${2:-}
otelcol=$OTELCOL_BIN
minutes=${MINUTES:-16}
images=$PWD/docs/images

log() { echo "screenshots.sh: $*" >&2; }

# What the page of Debian's Prometheus consists of.
packages=(
    prometheus libjs-bootstrap4 libjs-d3 libjs-eonasdan-bootstrap-datetimepicker libjs-jquery libjs-jquery-hotkeys
    libjs-moment libjs-moment-timezone libjs-mustache libjs-popper.js libjs-rickshaw fonts-glyphicons-halflings
)

unpack_page() {
    [[ ! -d $cache/prometheus-page ]] || return 0
    local work
    work=$(mktemp -d "$cache/.page.XXXXXX")
    (cd "$work" && apt-get download -qq "${packages[@]}" && for file in *.deb; do dpkg -x "$file" root; done)
    mv -T "$work/root" "$cache/prometheus-page"
    rm -rf "$work"
}

if [[ -z ${SCREENSHOTS_INSIDE:-} ]]; then
    command -v chromium >/dev/null || { log "chromium is missing (Debian: apt-get install chromium)"; exit 1; }
    unpack_page
    NODE_PATH=$(test/tools/node-modules.sh "$cache" test/programs/nodebusy)
    export NODE_PATH SCREENSHOTS_INSIDE=1
    exec unshare --map-root-user --net --mount "${BASH_SOURCE[0]}" "$@"
fi

ip link set lo up
mount -t overlay overlay -o "lowerdir=$cache/prometheus-page/usr/share:/usr/share" /usr/share
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
data=${data:-$work/data}

go build -o "$work/" ./test/programs/gobusy ./test/screenshots

prometheus() {
    "$cache/prometheus-page/usr/bin/prometheus" --log.level=warn --storage.tsdb.path="$data" "$@" &
    until curl -sf -o /dev/null localhost:9090/-/ready; do sleep 0.2; done
}

# work_for makes the programs work, more at some times than at others.
work_for() {
    local end=$((SECONDS + $1 * 60)) tick=0 go_cpu node_cpu
    while ((SECONDS < end)); do
        tick=$((tick + 1))
        go_cpu=$(awk -v t=$tick 'BEGIN { printf "%.2f", 1.6 + 1.4 * sin(t / 16 - 1.5) }')
        node_cpu=$(awk -v t=$tick 'BEGIN { printf "%.2f", 0.8 + 0.6 * sin(t / 9) }')
        curl -s "localhost:6060/burn?cpu=$go_cpu" &
        curl -s "localhost:6061/burn?cpu=$node_cpu" &
        curl -s localhost:6060/allocate &
        sleep 5
    done
}

if [[ -d $data ]]; then
    prometheus --config.file=/dev/null --storage.tsdb.retention.time=10y
else
    log "collecting for $minutes minutes"
    "$work/gobusy" &
    PORT=6061 node test/programs/nodebusy/server.js &
    "$otelcol" --config test/screenshots/collector.yaml --feature-gates=+service.profilesSupport 2>"$work/log" &
    prometheus --config.file=test/screenshots/prometheus.yml
    work_for "$minutes"
    date +%s >"$data/end"
fi

# shoot FILE URL WIDTH HEIGHT makes an image of a page.
shoot() {
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/browser" \
        --virtual-time-budget=8000 --window-size="$3,$4" --screenshot="$images/$1" "$2" 2>/dev/null
    log "$images/$1: $(stat -c %s "$images/$1") bytes"
}

# The link of docs/getting-started.md, on the page that Debian's Prometheus has.
link=$(grep -o 'http://localhost:9090/graph?[^)]*' docs/getting-started.md)
until=$(date -u -d "@$(<"$data/end")" '+%F%%20%T')
shoot prometheus.png "${link/graph/classic/graph}&g0.end_input=$until" 1300 960

"$work/screenshots" -service checkout -function 'main\..*' -range "$((minutes - 1))m" -end "$(<"$data/end")" -out "$work" | while read -r file width height; do
    shoot "dashboard-$(basename "$file" .html).png" "file://$file" "$width" "$height"
done
