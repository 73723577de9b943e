package writer

import (
	"holdfast/event"
	"holdfast/feed"
	"holdfast/persistence/postgres"
)

// tellEvents tells what has become of events: of each once that it has its row, and once that it is finished, however often it is
// run again.
func tellEvents(ws []*write) (told []feed.Change) {
	for _, w := range ws {
		if action := w.tells(); action != "" {
			told = append(told, feed.Change{
				Subject: feed.Event, Action: action, Provider: w.provider(), Kind: postgres.Clean(w.parsed.Type), ID: w.receipt.ID,
			})
		}
	}
	return told
}

// tells is "" where nothing is new.
func (w *write) tells() feed.Action {
	switch {
	case !w.owns() || w.isRebuild || w.brought != "" || w.found.status == event.StatusProcessed:
		return ""
	case w.Outcome == event.OutcomeIgnored:
		return feed.Ignored
	case w.finishes():
		return feed.Processed
	case w.found.status == "":
		return feed.Persisted
	default:
		return ""
	}
}

// tellVerdict tells what an operator has decided, of an event of which more than its key is left.
func tellVerdict(v event.Verdict, receipts []event.Receipt) []feed.Change {
	if len(receipts) == 0 {
		return nil
	}
	return []feed.Change{{
		Subject: feed.Event, Action: feed.Action(v.Outcome), Provider: postgres.Clean(receipts[0].Provider),
		Kind: postgres.Clean(receipts[0].Type), ID: v.EventID,
	}}
}
