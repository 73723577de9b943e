#!/bin/sh
# Makes the namespace and the search attributes that Holdfast uses, where they are missing. Runs at each start.
# TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE say where, RETENTION how long a finished run can be read.
set -eu

attempt=1
until temporal operator cluster health; do
	if [ "$attempt" -ge 30 ]; then
		echo "Temporal at $TEMPORAL_ADDRESS is not healthy after $attempt attempts" >&2
		exit 1
	fi
	attempt=$((attempt + 1))
	sleep 2
done

if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
	temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace takes some seconds to be seen by every part of the server.
attempt=1
until known=$(temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE"); do
	if [ "$attempt" -ge 30 ]; then
		echo "namespace $TEMPORAL_NAMESPACE does not answer after $attempt attempts" >&2
		exit 1
	fi
	attempt=$((attempt + 1))
	sleep 2
done

for attribute in Provider EventType; do
	if ! echo "$known" | grep -qw "$attribute"; then
		temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name "$attribute" --type Keyword
	fi
done
