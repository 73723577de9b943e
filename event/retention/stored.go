package retention

import (
	"time"

	"holdfast/event"
)

// Stored is an event or a dead letter as it was kept: what an archive holds, and an import brings back as it was. It is one of
// them.
type Stored struct {
	Event      *event.Record     `json:"event,omitempty"`
	DeadLetter *event.DeadLetter `json:"dead_letter,omitempty"`
	// UnreadReceipt are the bytes of a receipt that could not be read; only of a dead letter.
	UnreadReceipt []byte `json:"unread_receipt,omitempty"`
}

// Receipt is that of the event, or of the event that the dead letter is of.
func (s Stored) Receipt() event.Receipt {
	if s.Event != nil {
		return s.Event.Receipt
	}
	return s.DeadLetter.Receipt
}

// Outdated is what has been kept for long enough, as it was read.
type Outdated struct {
	Stored

	Body []byte
	// Version is that of its row: a row that has changed since has another.
	Version string
}

// ArchiveFile is a file of an archive.
type ArchiveFile struct {
	// Name is its path below the address of the archive.
	Name string
	// FirstID and LastID are the lowest and the highest ID of the events that it is about.
	FirstID, LastID string
	Lines           int
	// Expunges counts how often an event between them was expunged; 2 for a new file: one for its being written, one since an event
	// may have been expunged meanwhile.
	Expunges int
	// Looked says up to which of these the file has been looked at; 0: it may never have been written.
	Looked int
	At     time.Time
}

// ArchiveStats is what is known of an archive.
type ArchiveStats struct {
	Files  int64
	Newest time.Time
	// Due is how many files may hold what was expunged since the time OldestDue.
	Due       int64
	OldestDue time.Time
}
