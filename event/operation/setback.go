package operation

import (
	"fmt"
	"slices"
	"time"
)

// Mark is left by each sweep in both stores: as a row in PostgreSQL, and in the sweep's result in Temporal.
type Mark struct {
	Counter int64 `json:"counter,omitempty"`
	// At is the database's time of the mark. Every commit before it has survived if the mark has.
	At time.Time `json:"at,omitzero"`
	// Identity names the database server and its timeline, which a failover, a restore and an upgrade change.
	Identity string `json:"identity,omitempty"`
}

// Is reports whether the database still has this mark: it is the same server, and no other sweep has left one since.
func (m Mark) Is(now Mark) bool { return m.Counter == now.Counter && m.Identity == now.Identity }

// Store names a store that was set back.
type Store string

// The stores.
const (
	StorePostgreSQL Store = "PostgreSQL"
	StoreTemporal   Store = "Temporal"
)

// Setback says what may be missing after a failover or a restore. The zero value means that nothing is.
type Setback struct {
	// Store is the one that was set back; empty if the marks don't tell: the database's identity has changed, which also happens
	// when nothing was lost, or there is no mark.
	Store Store `json:"store,omitempty"`
	// Unmarked: no sweep has left a mark yet. Nothing says that a store was set back.
	Unmarked bool `json:"unmarked,omitempty"`
	// Since is the time of the latest mark that both stores have; without marks it is an hour ago.
	Since time.Time `json:"since,omitzero"`
	// NoticedAt is the time of the sweep that noticed it.
	NoticedAt time.Time `json:"noticed_at,omitzero"`
}

// IsZero reports whether nothing may be missing.
func (s Setback) IsZero() bool { return s.NoticedAt.IsZero() }

// MayLackCommits reports whether there is a reason to believe that the database lacks something that it had committed.
func (s Setback) MayLackCommits() bool { return !s.IsZero() && s.Store != StoreTemporal && !s.Unmarked }

// beforeAnyMark is the start of a comparison if only one store has a mark: the other doesn't know about earlier times.
var beforeAnyMark = time.Unix(0, 0).UTC()

// beforeFirstMark is how far back the first sweep compares: a failover may have come before it.
const beforeFirstMark = time.Hour

// CompareMarks compares the marks of the two stores at a time.
func CompareMarks(database, temporal Mark, now time.Time) Setback {
	s := Setback{NoticedAt: now}
	switch {
	case database.Counter < temporal.Counter:
		s.Store, s.Since = StorePostgreSQL, database.At
	case database.Counter > temporal.Counter:
		s.Store, s.Since = StoreTemporal, temporal.At
	case database.Counter == 0:
		s.Since, s.Unmarked = now.Add(-beforeFirstMark), true
	case database.Identity == temporal.Identity:
		return Setback{}
	default:
		s.Since = database.At
	}
	if s.Since.IsZero() {
		s.Since = beforeAnyMark
	}
	return s
}

// Healed counts what a sweep has done about a setback.
type Healed struct {
	// Again counts events that are processed again, with their IDs.
	Again int `json:"again,omitempty"`
	// Waiting counts events that an operator may have decided about: their dead letters wait for an operator.
	Waiting int `json:"waiting,omitempty"`
	// Held counts dead letters that were open before and wait for an operator now, for the same reason.
	Held int `json:"held,omitempty"`
	// Unknown counts runs and events that can't be read.
	Unknown int `json:"unknown,omitempty"`
	// Bulk counts lost events of the bulk lane, whose bodies Temporal doesn't have, and BulkKeys names some by workflow ID.
	Bulk     int      `json:"bulk,omitempty"`
	BulkKeys []string `json:"bulk_keys,omitempty"`
}

// MaxBulkKeys bounds the named events of the bulk lane.
const MaxBulkKeys = 100

// IsZero reports whether nothing was missing.
func (h Healed) IsZero() bool { return h.Again+h.Waiting+h.Held+h.Unknown+h.Bulk == 0 }

// With adds the counts of another page.
func (h Healed) With(more Healed) Healed {
	h.Again += more.Again
	h.Waiting += more.Waiting
	h.Held += more.Held
	h.Unknown += more.Unknown
	h.Bulk += more.Bulk
	h.BulkKeys = slices.Concat(h.BulkKeys, more.BulkKeys)
	h.BulkKeys = h.BulkKeys[:min(len(h.BulkKeys), MaxBulkKeys)]
	return h
}

// Text describes the setback and what was done about it, in one line.
func (s Setback) Text(h Healed) string {
	const layout = "2006-01-02 15:04:05"
	since := "an unknown time"
	if s.Since.After(beforeAnyMark) {
		since = s.Since.UTC().Format(layout) + " UTC"
	}
	what := string(s.Store) + " was set back to " + since + " or later"
	switch {
	case s.Unmarked:
		what = "no earlier sweep had compared the stores, so this one began at " + since
	case s.Store == "":
		what = "the database server has changed since " + since
	}
	text := fmt.Sprintf("%s (noticed at %s): %d events restored, %d unknown", what, s.NoticedAt.UTC().Format("15:04:05"),
		h.Again, h.Unknown)
	if n := h.Waiting + h.Held; n > 0 {
		text += fmt.Sprintf("; %d dead letters wait for an operator, since a decision about them may be lost", n)
	}
	if h.Bulk > 0 {
		text += fmt.Sprintf("; %d events of the bulk lane are lost: get them from their providers", h.Bulk)
	}
	return text
}
