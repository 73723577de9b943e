package background

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
)

// EventLists reads providers' lists of events.
type EventLists interface {
	// Available returns the providers that have a list, and a credential for it, by name.
	Available() []string
	// Describe returns what the definition says about a list; an error if there is none, or no credential for it.
	Describe(provider string) (operation.EventList, error)
	// Begin returns the position before the first page of a window.
	Begin(provider, target string, since, until time.Time) (json.RawMessage, error)
	// Page reads the page at a recovery's position, at the rate of the provider's API. An *operation.ListError means that the page
	// can't be read.
	Page(ctx context.Context, of operation.Recovery) (operation.RecoveryPage, error)

	FollowUps
}

// FollowUps sends the requests that single missed events need, at the rate of the provider's API. An *operation.ListError means
// that the provider didn't do it.
type FollowUps interface {
	// Complete returns a missed event with its body.
	Complete(ctx context.Context, of operation.Recovery, item operation.RecoveryItem) (operation.RecoveryItem, error)
	// Redeliver asks the provider to send a missed event again; it returns false if no operator has allowed that.
	Redeliver(ctx context.Context, of operation.Recovery, item operation.RecoveryItem) (asked bool, err error)
}

// RecoveryStore stores recoveries and the missed events that they have found.
type RecoveryStore interface {
	OperationStore[operation.Recovery]
	RecoverySchedule
	RecoveryWalk
	RecoveryStarts
}

// RecoverySchedule stores what the schedule starts.
type RecoverySchedule interface {
	// Marks returns what is known about each list.
	Marks(ctx context.Context) ([]operation.RecoveryMark, error)
	// Schedule stores a recovery; false while another one of its list has not ended.
	Schedule(ctx context.Context, r operation.Recovery) (isNew bool, err error)
}

// RecoveryWalk stores what a recovery has read.
type RecoveryWalk interface {
	// Mark switches recovery of a list on, and returns what is known about the list.
	Mark(ctx context.Context, provider, target string, dedupe operation.DedupeWindows) (operation.RecoveryMark, error)
	// Begin sets the window, and the position before the first page; nil if there is nothing to read.
	Begin(ctx context.Context, id string, w operation.RecoveryWindow, walk json.RawMessage) (operation.Recovery, error)
	// Unknown returns the workflow IDs of the events of a page that the database doesn't have.
	Unknown(ctx context.Context, of operation.Recovery, p operation.RecoveryPage) ([]string, error)
	// AddPage stages the missed events of a page, and moves the position behind it.
	AddPage(ctx context.Context, before operation.Recovery, p operation.RecoveryPage) (operation.Recovery, error)
	// Fail stores why a recovery can't go on, and when it tries again. The zero time pauses it: an operator must do something.
	Fail(ctx context.Context, id, problem string, retryAt time.Time) (operation.Recovery, error)
}

// RecoveryStarts stores what has become of missed events.
type RecoveryStarts interface {
	// Next returns missed events to start, oldest first.
	Next(ctx context.Context, id string, n int) ([]operation.RecoveryItem, error)
	// Settle counts what has become of missed events, and removes them.
	Settle(ctx context.Context, id string, items []operation.RecoveryItem, became operation.RecoveryStart) (
		operation.Recovery, error)
	// Finish completes a recovery that has read its list and started everything.
	Finish(ctx context.Context, id string) (operation.Recovery, error)
	// Drop removes the missed events of a recovery that has ended.
	Drop(ctx context.Context, id string) error
}

// Inbox commits events that aren't passed to Temporal as a whole.
type Inbox interface {
	// Spool commits an event to the bulk lane.
	Spool(ctx context.Context, lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool) (stored bool, err error)
	// KeepLarge commits the body of an event that is too large for Temporal. The drain starts the event after delay, and removes
	// the body once no run needs it. stored is false if the event has one already.
	KeepLarge(ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration) (stored bool, err error)
}

const (
	// recoveryChunk is how many missed events are started between two commits. They are held in memory with their bodies.
	recoveryChunk = 10
	// largePause is longer than a start takes.
	largePause = time.Minute
	// unavailableFor is the pause after a problem of the provider that asks for none.
	unavailableFor = 30 * time.Second
)

// RecoveryPage reads a list, or starts missed events, for some seconds, unless the recovery is paused or has ended. It can be
// killed at any moment and run again: a page that is read again adds nothing, and an event that is started again finds its own
// run.
func (a *Activities) RecoveryPage(ctx context.Context, id string) (operation.Recovery, error) {
	r, err := a.Recoveries.Read(ctx, id)
	for slice := newTimeSlice(ctx); err == nil && r.State == operation.Running && !r.RetryAt.After(time.Now()) && !slice.over(); {
		switch {
		case r.Since.IsZero():
			r, err = a.beginRecovery(ctx, r)
		case !r.HasReadList():
			r, err = a.readList(ctx, r)
		case r.DryRun:
			r, err = a.Recoveries.Finish(ctx, id)
		default:
			r, err = a.startMissed(ctx, r)
		}
		if err == nil && r.State == operation.Completed {
			logRecovery(ctx, r)
		}
	}
	if err == nil && r.State == operation.Canceled {
		err = a.Recoveries.Drop(ctx, id)
	}
	return r, err
}

// beginRecovery sets the window of a recovery, once.
func (a *Activities) beginRecovery(ctx context.Context, r operation.Recovery) (operation.Recovery, error) {
	list, err := a.Lists.Describe(r.Provider)
	if err != nil {
		return a.Recoveries.Fail(ctx, r.ID, err.Error(), time.Time{})
	}
	mark, err := a.Recoveries.Mark(ctx, r.Provider, r.Target, list.Dedupe)
	if err != nil {
		return r, err
	}
	w := r.Window(list, mark, time.Now())
	if w.IsEmpty() {
		return a.Recoveries.Begin(ctx, r.ID, w, nil)
	}
	walk, err := a.Lists.Begin(r.Provider, r.Target, w.Since, w.Until)
	if err != nil {
		return a.Recoveries.Fail(ctx, r.ID, err.Error(), time.Time{})
	}
	return a.Recoveries.Begin(ctx, r.ID, w, walk)
}

// readList reads the next page. A problem of the provider makes the workflow wait; any other one pauses the recovery.
func (a *Activities) readList(ctx context.Context, r operation.Recovery) (operation.Recovery, error) {
	page, err := a.Lists.Page(ctx, r)
	var failed *operation.ListError
	if !errors.As(err, &failed) {
		if err != nil {
			return r, err
		}
		if page.Waiting, err = a.waitingIn(ctx, r, page); err != nil {
			return r, err
		}
		return a.Recoveries.AddPage(ctx, r, page)
	}
	return a.blockRecovery(ctx, r, failed)
}

// waitingIn returns which events of a page have an open run: they were accepted, and aren't in the database yet.
func (a *Activities) waitingIn(ctx context.Context, r operation.Recovery, p operation.RecoveryPage) (map[string]bool, error) {
	unknown, err := a.Recoveries.Unknown(ctx, r, p)
	if err != nil {
		return nil, err
	}
	waiting := map[string]bool{}
	for _, id := range unknown {
		latest, err := a.Starter.LatestRun(ctx, id)
		if err != nil {
			return nil, err
		}
		waiting[id] = latest.Open
	}
	return waiting, nil
}

func (a *Activities) blockRecovery(
	ctx context.Context, r operation.Recovery, failed *operation.ListError,
) (operation.Recovery, error) {
	slog.WarnContext(ctx, "recovery.blocked", "recovery_id", r.ID, "provider", r.Provider, "error", failed.Text,
		"paused", !failed.IsTemporary)
	var retryAt time.Time
	if failed.IsTemporary {
		retryAt = time.Now().Add(max(failed.RetryAfter, unavailableFor))
	}
	return a.Recoveries.Fail(ctx, r.ID, failed.Text, retryAt)
}

// startMissed starts the next missed events, oldest first, and completes the recovery after the last. An outage ends the attempt:
// what was started is counted, and the rest stays for the next attempt. An event that needs one more request is counted at once:
// if the process is killed in between, only that request is repeated.
func (a *Activities) startMissed(ctx context.Context, r operation.Recovery) (operation.Recovery, error) {
	items, err := a.Recoveries.Next(ctx, r.ID, min(max(int(r.Rate), 1), recoveryChunk))
	if err != nil {
		return r, err
	}
	if len(items) == 0 {
		return a.Recoveries.Finish(ctx, r.ID)
	}
	pace := newPace(r.Rate)
	became := operation.RecoveryStart{Left: map[string]bool{}}
	done := 0
	for _, item := range items {
		if err = a.recoverItem(ctx, r, item, &became); err != nil {
			break
		}
		done++
		if err = pace.wait(ctx); err != nil || item.Path != "" {
			break
		}
	}
	settled, settleErr := a.Recoveries.Settle(context.WithoutCancel(ctx), r.ID, items[:done], became)
	var failed *operation.ListError
	if errors.As(err, &failed) && settleErr == nil {
		return a.blockRecovery(ctx, r, failed)
	}
	return settled, errors.Join(err, settleErr)
}

// recoverItem starts a missed event, or lets the provider send it again, and counts what has become of it.
func (a *Activities) recoverItem(
	ctx context.Context, r operation.Recovery, item operation.RecoveryItem, became *operation.RecoveryStart,
) (err error) {
	id := item.Receipt.WorkflowID()
	var isNew, asked bool
	switch {
	case item.Redeliverable:
		asked, err = a.Lists.Redeliver(ctx, r, item)
	case item.Path != "":
		if item, err = a.Lists.Complete(ctx, r, item); err == nil {
			isNew, err = a.startItem(ctx, item)
		}
	default:
		isNew, err = a.startItem(ctx, item)
	}
	var failed *operation.ListError
	isOfEvent := errors.As(err, &failed) && failed.IsOfEvent
	switch {
	case isOfEvent || err != nil && event.ClassOf(err) == event.ClassRejected:
		became.Failed, became.Problem = became.Failed+1, id+": "+err.Error()
		if isOfEvent {
			became.Left[id] = true
		}
		return nil
	case err != nil:
		return err
	case item.Redeliverable:
		if became.Left[id] = asked; asked {
			became.Asked++
		}
	case isNew:
		became.Recovered++
	default:
		became.Arrived++
	}
	return nil
}

// startItem starts a missed event, or commits it to the bulk lane. isNew is false if another event has its key.
func (a *Activities) startItem(ctx context.Context, item operation.RecoveryItem) (isNew bool, err error) {
	switch {
	case len(item.Body) > event.MaxInline:
		return a.startLarge(ctx, item.Receipt, item.Body)
	case item.Lane == event.LaneBulk:
		return a.Inbox.Spool(ctx, item.Lane, item.Receipt, item.Body, true)
	}
	return a.Starter.Recover(ctx, item.Receipt, item.Body)
}

// startLarge starts an event that is too large for Temporal, as the ingress does. If the inbox has it already, from an earlier
// attempt, the drain starts it.
func (a *Activities) startLarge(ctx context.Context, r event.Receipt, body []byte) (isNew bool, err error) {
	r.Large = event.NewLargeBody(r.ID, body)
	if stored, err := a.Inbox.KeepLarge(ctx, r, body, true, largePause); err != nil || !stored {
		return true, err
	}
	return a.Starter.Recover(ctx, r, nil)
}

// CancelRecovery ends a recovery.
func (a *Activities) CancelRecovery(ctx context.Context, id string) error {
	return a.Recoveries.Cancel(ctx, id)
}

func logRecovery(ctx context.Context, r operation.Recovery) {
	slog.InfoContext(ctx, "recovery.ended", "recovery_id", r.ID, "outcome", string(r.State), "provider", r.Provider,
		"target", r.Target, "dry_run", r.DryRun, "since", r.Since, "until", r.Until, "listed", r.Listed, "known", r.Known,
		"missed", r.Missed, "asked", r.Asked, "recovered", r.Recovered, "arrived", r.Arrived, "failed", r.Failed,
		"duration_ms", time.Since(r.StartedAt).Milliseconds())
}
