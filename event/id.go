package event

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// maxWorkflowIDLength is in bytes. Temporal's SQL tables hold 255; the rest is for suffixes of derived runs.
const maxWorkflowIDLength = 200

// keyHashPrefix marks the hash of a key that is too long or has other characters.
const keyHashPrefix = "h:"

var keyHashEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// CanonicalKey bounds an idempotency key so that it fits a workflow ID and an index. It keeps a short key of [A-Za-z0-9._:-] and
// replaces any other by "h:" + base32(sha256(key)). It also hashes keys that begin with "h:", so that none can pass for the hash
// of another.
func CanonicalKey(provider, key string) string {
	fits := len(provider)+1+len(key) <= maxWorkflowIDLength
	if key != "" && fits && isClean(key) && !strings.HasPrefix(key, keyHashPrefix) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return keyHashPrefix + keyHashEncoding.EncodeToString(sum[:])
}

func isClean(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// WorkflowID returns the workflow ID of an event. SplitWorkflowID is its inverse.
func WorkflowID(provider, key string) string { return provider + ":" + key }

// SplitWorkflowID returns the provider and the canonical key; ok is false if the workflow isn't an event's. Provider names
// contain no colon.
func SplitWorkflowID(id string) (provider, key string, ok bool) {
	provider, key, ok = strings.Cut(id, ":")
	return provider, key, ok && provider != "" && key != ""
}

// batchPrefix has no colon, so that it never looks like a provider.
const batchPrefix = "batch/"

// BatchWorkflowID returns the ID of the workflow that processes a batch of the bulk lane.
func BatchWorkflowID(id string) string { return batchPrefix + id }

// IsBatchWorkflow reports whether the workflow is a batch, which processes many events.
func IsBatchWorkflow(id string) bool { return strings.HasPrefix(id, batchPrefix) }

// FirstIDAt returns a lower bound of all UUIDv7 created at or after t, which is greater than any UUIDv7 of an earlier
// millisecond. Lists ordered by ID use it as a bound in time.
func FirstIDAt(t time.Time) string {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(max(t.UnixMilli(), 0)))
	ms := hex.EncodeToString(stamp[2:])
	return ms[:8] + "-" + ms[8:] + "-0000-0000-000000000000"
}

// TimeOfID returns when a UUIDv7 was created, in whole milliseconds; ok is false for other IDs.
func TimeOfID(id string) (made time.Time, ok bool) {
	if len(id) != len("00000000-0000-7000-8000-000000000000") || id[8] != '-' || id[13] != '-' || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseUint(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(int64(ms)), err == nil
}

// AcceptedAt returns when the event with the ID was accepted, in UTC, or the time of a FirstIDAt bound; zero for other IDs.
func AcceptedAt(id string) time.Time {
	const version = len("00000000-0000-")
	if len(id) > version && id[version] == '0' {
		id = id[:version] + "7" + id[version+1:]
	}
	made, ok := TimeOfID(id)
	if !ok {
		return time.Time{}
	}
	return made.UTC()
}

// revision marks the key of an edited event.
const revision = ":r"

// RevisedKey returns the canonical key of the nth edit of an event: evt_1:r2. It stays within Temporal's limit.
func RevisedKey(key string, n int) string { return key + revision + strconv.Itoa(n) }

// UnrevisedKey returns the key of the event from which an edited one was made, perhaps in several edits.
func UnrevisedKey(revised string) string {
	if i := strings.LastIndex(revised, revision); i > 0 {
		return revised[:i]
	}
	return revised
}
