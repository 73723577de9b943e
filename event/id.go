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

// maxWorkflowIDLength is in bytes. Temporal's SQL tables hold 255; the rest is room for the suffixes of derived runs.
const maxWorkflowIDLength = 200

// keyHashPrefix marks a canonical key that is the hash of a key which is too long or has characters outside the alphabet.
const keyHashPrefix = "h:"

var keyHashEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// CanonicalKey bounds an idempotency key so that it fits a workflow ID and an index: a key of [A-Za-z0-9._:-] that fits stays
// as it is, anything else becomes "h:" + base32(sha256(key)). A key that begins with "h:" itself is hashed as well, so that none
// can pass for the hash of another.
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

// WorkflowID is the ID of the workflow of the event with this canonical key. SplitWorkflowID is its inverse.
func WorkflowID(provider, key string) string { return provider + ":" + key }

// SplitWorkflowID gives the provider and the canonical key of a workflow ID; ok is false if it is none of ours.
// Names of providers hold no colon.
func SplitWorkflowID(id string) (provider, key string, ok bool) {
	provider, key, ok = strings.Cut(id, ":")
	return provider, key, ok && provider != "" && key != ""
}

// batchPrefix has no colon, so that a batch is never taken for the workflow of an event.
const batchPrefix = "batch/"

// BatchWorkflowID is the ID of the workflow that processes a batch of the bulk lane.
func BatchWorkflowID(id string) string { return batchPrefix + id }

// IsBatchWorkflow says whether the ID is that of a batch, which is the run of many events.
func IsBatchWorkflow(id string) bool { return strings.HasPrefix(id, batchPrefix) }

// FirstIDAt is not greater than any ID (UUIDv7) that was made at t or later, and greater than all that were made in an
// earlier millisecond: a bound in time for lists that are ordered by ID.
func FirstIDAt(t time.Time) string {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(max(t.UnixMilli(), 0)))
	ms := hex.EncodeToString(stamp[2:])
	return ms[:8] + "-" + ms[8:] + "-0000-0000-000000000000"
}

// TimeOfID is when an ID (UUIDv7) was made, in whole milliseconds; ok is false if the ID says no time.
func TimeOfID(id string) (made time.Time, ok bool) {
	if len(id) != len("00000000-0000-7000-8000-000000000000") || id[8] != '-' || id[13] != '-' || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseUint(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(int64(ms)), err == nil
}

// AcceptedAt is when the event of an ID was accepted, in UTC, or the time of a bound that FirstIDAt has made; zero if the ID says
// no time.
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

// revision marks the key of an event that was made from another one by an edit.
const revision = ":r"

// RevisedKey is the canonical key of the nth event that was made by editing the event with this key: evt_1:r2. It stays
// within the length that Temporal holds.
func RevisedKey(key string, n int) string { return key + revision + strconv.Itoa(n) }
