package retention

import "holdfast/event"

// MaxCollapsed bounds Expunged.Collapsed.
const MaxCollapsed = 20

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
	// Collapsed are entities whose base may hold what the event did, the first MaxCollapsed of them: retention had folded its
	// changes together with those of others received before and after it, and has not kept which. Their states are as they were.
	Collapsed []event.EntityRef `json:"collapsed,omitempty"`
	// ArchiveFiles is how many files of the archive may hold it.
	ArchiveFiles int64 `json:"archive_files,omitempty"`
	// Runs is how many runs Temporal was told to delete.
	Runs int `json:"runs"`
	// Earlier is set if the event had been expunged before: it says who did so, when and why.
	Earlier *event.Verdict `json:"earlier,omitempty"`
}
