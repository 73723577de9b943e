#!/usr/bin/env bash
# Temporal: a search attribute may be called Status, Level or Order, and can't be used in a filter without backquotes.
#
# Versions: Temporal server 1.29.1 (dev server of the CLI 1.5.1); 1.32.1 on PostgreSQL does the same. Building the CLI takes
#           4 minutes on 2 cores.
# Guess:    names that can't be filtered by are refused when the attribute is created, or need nothing special.
# Seen:     creating it succeeds, and so does starting a workflow with it. A filter that names it fails: for some names because
#           there is no such attribute, in lower case, which sends the reader to look for a missing attribute; for others with a
#           syntax error. The filter is read as MySQL's SQL, in which these are keywords: Status, Level, Date, Time, Timestamp, Text,
#           Int, Mode, Session, Signal, Language, Offset, Year; and Order, Key, Group, Index, Limit, Match, Default, Interval, Schema,
#           Table, Values. Type, Source, Count, Value, User, Account and Channel aren't.
# Hurts:    whoever names an attribute after a field of an event, such as the status of an order, and everybody who later filters
#           by it in Temporal Web or in `temporal workflow list`. Choose another name, or write `Status` in backquotes.
set -euo pipefail
dir=$(mktemp -d); server=""; trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT; cd "$dir"
GOBIN=$dir go install -tags disable_grpc_modules github.com/temporalio/cli/cmd/temporal@v1.5.1 2>/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./temporal server start-dev --ip 127.0.0.1 --port "$port" --headless --log-level never >/dev/null 2>&1 & server=$!
export TEMPORAL_ADDRESS=127.0.0.1:$port
until ./temporal operator search-attribute create --name Status --type Keyword --name Order --type Keyword --name Type --type Keyword >/dev/null 2>&1; do sleep 1; done
until ./temporal workflow start --type T --task-queue none --workflow-id one --search-attribute 'Status="paid"' \
	--search-attribute 'Order="17"' --search-attribute 'Type="card"' >/dev/null 2>&1; do sleep 1; done
count() { ./temporal workflow count --query "$1" 2>&1 | grep -oE 'Total: [0-9]+|not a valid search attribute|syntax error' | head -1; }
until [ "$(count 'WorkflowId = "one"')" = "Total: 1" ]; do sleep 1; done
for filter in "Status = 'paid'" "\`Status\` = 'paid'" "Order = '17'" "\`Order\` = '17'" "Type = 'card'"; do
	echo "$filter: $(count "$filter")"
done | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
Status = 'paid': not a valid search attribute
`Status` = 'paid': Total: 1
Order = '17': syntax error
`Order` = '17': Total: 1
Type = 'card': Total: 1
SEEN
echo "as seen"
