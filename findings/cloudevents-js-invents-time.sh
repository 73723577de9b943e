#!/usr/bin/env bash
# CloudEvents' JavaScript SDK: reading an event changes its time, or makes one up.
#
# Version:  cloudevents 10.0.0 (npm), Node 20.
# Guess:    `time` is an optional string. The SDK returns it as it was sent, and nothing if it wasn't.
# Seen:     an event without `time` gets the clock of the process that reads it, so two readers of one event, or two deliveries,
#           see different times. A time with a zone or with microseconds becomes UTC with three digits.
# Hurts:    whoever keys, signs or orders events by `time`, or forwards what the SDK has read: two deliveries of one event differ,
#           events of the same millisecond lose their order, and an event that had no time now has the time of its delivery.
#           Read `time` from the request itself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund cloudevents@10.0.0
cat >read.mjs <<'JS'
import { HTTP } from 'cloudevents';

const read = (time) => HTTP.toEvent({
  headers: { 'content-type': 'application/cloudevents+json' },
  body: JSON.stringify({ specversion: '1.0', id: '1', type: 'invoice.paid', source: '/billing', time }),
}).time;

const first = read(undefined);
await new Promise((done) => setTimeout(done, 5));
console.log('no time: made up', first !== undefined, '- the second reader sees another one', first !== read(undefined));
console.log('two events, 1 µs apart:', read('2024-05-01T10:00:00.000001+02:00'), read('2024-05-01T10:00:00.000002+02:00'));
JS
node read.mjs | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
no time: made up true - the second reader sees another one true
two events, 1 µs apart: 2024-05-01T08:00:00.000Z 2024-05-01T08:00:00.000Z
SEEN
echo "as seen"
