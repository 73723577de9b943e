package importer

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
)

// readStored reads a line of an archive: an event or a dead letter as Holdfast stored it, with its own ID, key and receipt. Its
// body isn't parsed.
func (r *Reader) readStored(of *record, kind operation.ImportRecord) []operation.ImportItem {
	item := operation.ImportItem{Record: kind, Line: of.line, Stored: &retention.Stored{}}
	if kind == operation.ImportEvent {
		item.Stored.Event = storedAs[event.Record](of)
		if fetched := of.take("fetched"); fetched != nil && json.Unmarshal(fetched, &item.Stored.Fetched) != nil {
			of.wrong("fetched", "is not what an archive holds")
		}
	} else {
		item.Stored.DeadLetter = storedAs[event.DeadLetter](of)
		item.Stored.UnreadReceipt = of.bytes("unread_receipt")
	}
	var hasBody bool
	if item.Body, _, hasBody = of.body(); !hasBody && len(of.problems) == 0 {
		of.wrong("body", "is missing")
	}
	if len(of.problems) > 0 {
		return nil
	}
	item.Receipt = item.Stored.Receipt()
	r.checkStored(of, item)
	if len(of.problems) > 0 {
		return nil
	}
	if item.Stored.Event != nil {
		item.Stored.Event.Receipt = event.Receipt{}
	} else {
		item.Stored.DeadLetter.Receipt = event.Receipt{}
	}
	return []operation.ImportItem{item}
}

func storedAs[T any](of *record) *T {
	var stored T
	if json.Unmarshal(of.take("stored"), &stored) != nil {
		of.wrong("stored", "is not what an archive holds")
	}
	return &stored
}

// checkStored refuses what can't come from an archive.
func (r *Reader) checkStored(of *record, item operation.ImportItem) {
	receipt := item.Receipt
	id, err := uuid.Parse(receipt.ID)
	made, ok := event.TimeOfID(receipt.ID)
	switch {
	case err != nil || id.String() != receipt.ID || !ok || isFuture(made):
		of.wrong("stored", "its receipt has no ID that was made at a time")
	case receipt.Key == "" || receipt.ReceivedAt.Before(earliest) || isFuture(receipt.ReceivedAt):
		of.wrong("stored", "its receipt has no key, or no time that has passed")
	case item.Stored.Event != nil && !slices.Contains(archivedStatuses, item.Stored.Event.Status):
		of.wrong("stored", "an event of an archive is processed or dead")
	case item.Stored.DeadLetter != nil && !isClosed(*item.Stored.DeadLetter):
		of.wrong("stored", "a dead letter of an archive is resolved or discarded, since a time")
	case item.Stored.DeadLetter != nil && !hasCounts(*item.Stored.DeadLetter):
		of.wrong("stored", "its numbers are none that an archive holds")
	}
	if _, ok := r.Lookup(receipt.Provider); !ok {
		of.wrong("stored", "its provider has no definition")
	}
}

func isFuture(at time.Time) bool { return at.After(time.Now().Add(maxFuture)) }

// hasCounts reports whether the counts fit PostgreSQL's four bytes.
func hasCounts(d event.DeadLetter) bool {
	for _, n := range []int{d.Failures, d.Failure.Attempts, d.AutoAttempts} {
		if n < 0 || n > math.MaxInt32 {
			return false
		}
	}
	return true
}

var archivedStatuses = []event.Status{event.StatusProcessed, event.StatusDead}

func isClosed(d event.DeadLetter) bool {
	if d.State == event.DeadLetterResolved {
		return d.ResolvedAt != nil
	}
	return d.State == event.DeadLetterDiscarded && d.DiscardedAt != nil && strings.TrimSpace(d.DiscardReason) != ""
}
