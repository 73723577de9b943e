#!/usr/bin/env bash
# Lists the functions of Holdfast that one ordinary event runs through, from the request to the delivery: those that a run with one
# event covers, and an idle run of the same program doesn't. Needs bin/temporal (make bin/temporal) and jq.
#
#   bench/event-path.sh            # writes bin/event-path.txt
#   PROGRAM=… OUT=… bench/event-path.sh    # measures a program that was built with -cover
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-bin/event-path.txt}
work=$(mktemp -d)
pid=
finish() {
  local code=$?
  if [[ -n $pid ]]; then kill -INT "$pid"; wait "$pid" || true; fi
  if ((code)); then cat "$work"/*.log >&2; fi
  rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work" # PostgreSQL may run as another user

program=${PROGRAM:-}
if [[ -z $program ]]; then
  program=$PWD/bin/holdfast-cover
  go build -cover -coverpkg=holdfast/... -o "$program" ./cmd/holdfast
fi
mkdir -p "$work/bin"
cp "$program" "$work/bin/holdfast" # dev looks for Temporal next to itself
cp bin/temporal "$work/bin/"

export HOLDFAST_INGRESS_ADDR=127.0.0.1:${PORT:=18480} HOLDFAST_OPERATOR_ADDR=127.0.0.1:$((PORT + 1))
export HOLDFAST_DEV_TEMPORAL_PORT=$((PORT + 2)) HOLDFAST_DEV_TEMPORAL_UI_PORT=$((PORT + 3)) HOLDFAST_DEV_POSTGRES_PORT=$((PORT + 4))

# cover runs the program for a while, calls a function once it is ready, and lists what was covered.
cover() {
  local name=$1 seconds=$2 do=$3
  export HOLDFAST_DEV_DIR=$work/$name
  mkdir -p "$work/$name.cov"
  GOCOVERDIR=$work/$name.cov "$work/bin/holdfast" dev >"$work/$name.log" 2>&1 &
  pid=$!
  until grep -q 'Ctrl-C' "$work/$name.log"; do
    kill -0 $pid || { cat "$work/$name.log"; return 1; }
    sleep 1
  done
  GOCOVERDIR=$work "$work/bin/holdfast" subscription delete sample-workflow --reason measured >>"$work/$name.log" 2>&1
  sleep 10
  $do
  sleep "$seconds"
  kill -INT $pid
  wait $pid || true
  pid=
  go tool covdata func -i="$work/$name.cov" | awk '$NF != "0.0%" && NF >= 3 {print $1, $2}' | sed -E 's/:[0-9]+://' | sort -u >"$work/$name.txt"
}

event() { GOCOVERDIR=$work "$work/bin/holdfast" send stripe customer.updated --url "http://$HOLDFAST_INGRESS_ADDR" >>"$work/event.log" 2>&1; }

cover idle 60 true
cover event 30 event
comm -13 "$work/idle.txt" "$work/event.txt" >"$out"
echo "$(wc -l <"$out") functions: $out"
