package retention

import (
	"time"

	"holdfast/event"
)

// Stored is an archived event or dead letter, exactly one of them. An import restores it unchanged.
type Stored struct {
	Event      *event.Record     `json:"event,omitempty"`
	DeadLetter *event.DeadLetter `json:"dead_letter,omitempty"`
	// UnreadReceipt is the raw receipt of a dead letter if it couldn't be decoded.
	UnreadReceipt []byte `json:"unread_receipt,omitempty"`
	// Fetched is the state that was fetched for an event; nil if there is none.
	Fetched *Fetched `json:"fetched,omitempty"`
}

// Fetched is an archived state. It has the bytes of the provider; a nil State means that the provider no longer had it.
type Fetched struct {
	At    time.Time `json:"at"`
	State []byte    `json:"state,omitempty"`
}

// Fetched returns the state that was fetched for the event; nil if there is none.
func (f *Fetched) Fetched() *event.Fetched {
	if f == nil {
		return nil
	}
	return &event.Fetched{At: f.At, Gone: f.State == nil, State: f.State, Bytes: len(f.State)}
}

// Receipt returns the receipt of the event or dead letter, with the fetched state.
func (s Stored) Receipt() event.Receipt {
	if s.Event == nil {
		return s.DeadLetter.Receipt
	}
	r := s.Event.Receipt
	r.Fetched = s.Fetched.Fetched()
	return r
}

// Outdated is an expired event or dead letter.
type Outdated struct {
	Stored

	Body []byte
	// Version changes whenever the row changes.
	Version string
}

// ArchiveFile is a file of an archive.
type ArchiveFile struct {
	// Name is the path relative to the address of the archive.
	Name string
	// FirstID and LastID are the lowest and highest event ID in the file.
	FirstID, LastID string
	Lines           int
	// Expunges counts the expunged events in that range. A new file starts with 2: one because it is being written, and one because
	// an event may have been expunged meanwhile.
	Expunges int
	// CheckedExpunges is the value of Expunges when the file was last checked; 0 if the file may never have been written.
	CheckedExpunges int
	At              time.Time
}

// ArchiveStats summarizes an archive.
type ArchiveStats struct {
	Files  int64
	Newest time.Time
	// Due counts the files that may contain expunged events, since OldestDue.
	Due       int64
	OldestDue time.Time
}

// Archived are the changes of entities in an archive; changes of one event are in order.
type Archived map[event.EntityRef][]event.OrderedChange

// Expunged counts what was removed with one event.
type Expunged struct {
	EventID     string   `json:"event_id"`
	Provider    string   `json:"provider"`
	WorkflowIDs []string `json:"workflow_ids"`
	Events      int64    `json:"events"`
	DeadLetters int64    `json:"dead_letters"`
	Changes     int64    `json:"changes"`
	Errors      int64    `json:"errors"`
	// Waiting is 1 if the event was in the inbox.
	Waiting int64 `json:"waiting"`
	// ImportLines counts unapplied lines of imports.
	ImportLines int64 `json:"import_lines,omitempty"`
	// Entities counts the entities that were folded again without the event.
	Entities int `json:"entities"`
	// Collapsed lists entities whose base may still include the event, because a purge had folded its changes into it.
	Collapsed []event.EntityRef `json:"collapsed,omitempty"`
	// Incomplete lists entities that can't be folded without the event, because a purge removed their changes. They are marked: see
	// event.Entity.
	Incomplete []event.EntityRef `json:"incomplete,omitempty"`
	// Recomputed lists entities that were folded from the archive without the event.
	Recomputed []event.EntityRef `json:"recomputed,omitempty"`
	// ArchiveFiles counts the archive files that may contain the event.
	ArchiveFiles int64 `json:"archive_files,omitempty"`
	// Runs counts the runs that Temporal was asked to delete.
	Runs int `json:"runs"`
	// Earlier is set if the event had been expunged before.
	Earlier *event.Decision `json:"earlier,omitempty"`
}
