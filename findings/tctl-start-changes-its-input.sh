#!/usr/bin/env bash
# tctl: `workflow start --input` doesn't send the JSON that it is given.
#
# Versions: tctl 1.18.0, Temporal server 1.29.1 (dev server of the CLI 1.5.1). Building both takes 5 minutes on 2 cores.
# Guess:    the input is the payload of the workflow, byte for byte, as it is with `temporal workflow start`.
# Seen:     tctl decodes the input and encodes it again: an ID of 20 digits is rounded, fields are sorted, and < becomes an escape. The
#           workflow gets another number than the operator typed, and no message says so. `temporal` sends the bytes.
# Hurts:    operators who start a run again with the input of a failed one: IDs beyond 2^53 change, and so does every hash or signature of
#           the input. Use `temporal workflow start`.
set -euo pipefail
dir=$(mktemp -d); server=""; trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT; cd "$dir"
GOBIN=$dir go install -tags disable_grpc_modules github.com/temporalio/cli/cmd/temporal@v1.5.1 2>/dev/null
mkdir old
(cd old && go mod init finding/old && go get github.com/temporalio/tctl/cmd/tctl@v1.18.0 && go build -o ../tctl github.com/temporalio/tctl/cmd/tctl) 2>/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
export TEMPORAL_ADDRESS=127.0.0.1:$port HOME=$dir
for _ in $(seq 100); do ./temporal operator cluster health >/dev/null 2>&1 && break; sleep 0.2; done
input='{"total":12345678901234567890,"account":"<a>"}'
./tctl --address "$TEMPORAL_ADDRESS" workflow start --workflow_id tctl --workflow_type Pay --taskqueue none --input "$input" >/dev/null
./temporal workflow start --workflow-id temporal --type Pay --task-queue none --input "$input" >/dev/null
for id in tctl temporal; do
	echo "$id: $(./temporal workflow show --workflow-id $id --output json | python3 -c '
import base64, json, sys
payload = json.load(sys.stdin)["events"][0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"][0]
print(base64.b64decode(payload["data"]).decode())')"
done | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
tctl: {"account":"\u003ca\u003e","total":12345678901234567000}
temporal: {"total":12345678901234567890,"account":"<a>"}
SEEN
echo "as seen"
