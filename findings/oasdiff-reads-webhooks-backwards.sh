#!/usr/bin/env bash
# oasdiff: a webhook that loses a field passes the check for breaking changes, and one that gains a field fails it.
#
# Version:  oasdiff 1.37.0 (Go 1.26).
# Guess:    its documentation has webhooks among what it checks. The body of a webhook's request goes from the API to its clients, like
#           the body of a response, so that the rules for responses apply: a field that is gone or may be null breaks clients.
# Seen:     the rules for requests apply. A removed field is a warning, one that may be null or missing, or has a new value of an enum,
#           is no change worth a line, and a new field that is always there is an error. The same changes of a response get the
#           opposite answers.
# Hurts:    API providers whose builds fail on breaking changes, as `--fail-on ERR` does: they are free to break each receiver, and are
#           kept from adding fields. Check payloads as responses of a made-up path instead.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
GOBIN=$dir go install github.com/oasdiff/oasdiff@v1.37.0 2>/dev/null
# document KIND PROPERTIES REQUIRED: an API with this schema in a webhook's request, or in a response.
document() {
	local body="content: {application/json: {schema: {type: object, properties: {id: {type: string}, $2}, required: [id, $3]}}}"
	echo 'openapi: 3.1.0'
	echo 'info: {title: shop, version: 1.0.0}'
	if [ "$1" = webhook ]; then
		echo "webhooks: {paid: {post: {requestBody: {required: true, $body}, responses: {'200': {description: received}}}}}"
	else
		echo "paths: {/paid: {get: {responses: {'200': {description: paid, $body}}}}}"
	fi
}
# compare CHANGE PROPERTIES REQUIRED: how the check for breaking changes ends.
compare() {
	for kind in response webhook; do
		document $kind 'cents: {type: integer}, state: {type: string, enum: [new]}' 'cents, state' >old.yaml
		document $kind "$2" "$3" >new.yaml
		result=passed
		./oasdiff breaking --fail-on ERR old.yaml new.yaml >lines 2>&1 || result=failed
		echo "$1, $kind: $result $({ grep -o '\[.*\]' lines || true; } | paste -sd ' ')" | sed 's/ $//'
	done
}
{
	compare 'field removed' 'state: {type: string, enum: [new]}' state
	compare 'field may be null' 'cents: {type: [integer, "null"]}, state: {type: string, enum: [new]}' 'cents, state'
	compare 'field may be missing' 'cents: {type: integer}, state: {type: string, enum: [new]}' state
	compare 'new value of an enum' 'cents: {type: integer}, state: {type: string, enum: [new, void]}' 'cents, state'
	compare 'new field' 'cents: {type: integer}, state: {type: string, enum: [new]}, note: {type: string}' 'cents, state, note'
} | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
field removed, response: failed [response-required-property-removed]
field removed, webhook: passed [request-property-removed]
field may be null, response: failed [response-property-became-nullable]
field may be null, webhook: passed
field may be missing, response: failed [response-property-became-optional]
field may be missing, webhook: passed
new value of an enum, response: failed [response-property-enum-value-added]
new value of an enum, webhook: passed
new field, response: passed
new field, webhook: failed [new-required-request-property]
SEEN
echo "as seen"
