package retention

import "holdfast/event"

// Archived are the changes of entities that an archive holds, those of one event in their order.
type Archived map[event.EntityRef][]event.OrderedChange

// Expunged says what was removed with one event.
type Expunged struct {
	EventID     string   `json:"event_id"`
	Provider    string   `json:"provider"`
	WorkflowIDs []string `json:"workflow_ids"`
	Events      int64    `json:"events"`
	DeadLetters int64    `json:"dead_letters"`
	Changes     int64    `json:"changes"`
	Errors      int64    `json:"errors"`
	// Waiting is 1 if it waited in the inbox.
	Waiting int64 `json:"waiting"`
	// ImportLines are lines of imports that have yet to be applied.
	ImportLines int64 `json:"import_lines,omitempty"`
	// Entities is how many entities were folded again, without the event.
	Entities int `json:"entities"`
	// Collapsed are the entities whose base holds what the event did, or may: a purge had folded its changes together with others.
	// The base stays as it was.
	Collapsed []event.EntityRef `json:"collapsed,omitempty"`
	// Incomplete are the entities that can't be folded without the event, since a purge has removed what they were folded from. They
	// are marked so: see event.Entity.
	Incomplete []event.EntityRef `json:"incomplete,omitempty"`
	// Recomputed are the entities that were folded from the archive, without the event.
	Recomputed []event.EntityRef `json:"recomputed,omitempty"`
	// ArchiveFiles is how many files of the archive may hold it.
	ArchiveFiles int64 `json:"archive_files,omitempty"`
	// Runs is how many runs Temporal was told to delete.
	Runs int `json:"runs"`
	// Earlier is set if the event had been expunged before: it says who did so, when and why.
	Earlier *event.Verdict `json:"earlier,omitempty"`
}
