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
}

// Receipt returns the receipt of the event or dead letter.
func (s Stored) Receipt() event.Receipt {
	if s.Event != nil {
		return s.Event.Receipt
	}
	return s.DeadLetter.Receipt
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
