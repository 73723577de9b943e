package retention

import "holdfast/event"

// Archived are the changes of entities in an archive; those of one event are in order.
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
