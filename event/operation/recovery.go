package operation

import (
	"encoding/json"
	"time"

	"holdfast/event"
)

// Recovery reads a provider's list of events, and processes those that never arrived, oldest first.
type Recovery struct {
	Base

	Provider string `json:"provider"`
	// Target names the list if the provider has several: a connected account, a board.
	Target string `json:"target,omitempty"`
	// DryRun: it counts without processing anything.
	DryRun bool `json:"dry_run"`
	// Undelivered: recovered events change entities and the change feed, but aren't sent to subscriptions.
	Undelivered bool `json:"undelivered"`
	// AcceptDuplicates: it goes back before recovery was switched on, where it can't recognize every event.
	AcceptDuplicates bool `json:"accept_duplicates"`
	// Whole: the schedule has started it, to read everything in the list.
	Whole bool `json:"whole"`

	// AskedSince is the start that was asked for; absent for the watermark.
	AskedSince time.Time `json:"asked_since,omitzero"`
	// Since and Until bound the times of the events, as the list has them; absent until the first page is read.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Cut is why it begins later than asked; absent if it doesn't.
	Cut RecoveryCut `json:"cut,omitempty" jsonschema:"enum=reach,enum=switched_on"`
	// WantedSince is where it would have begun without the cut; absent without one.
	WantedSince time.Time `json:"wanted_since,omitzero"`

	// Listed counts the events of the list in that time.
	Listed int64 `json:"listed"`
	// Known counts those that are here: processed, waiting, dead, discarded, replaced or expunged.
	Known int64 `json:"known"`
	// Unwanted counts those whose type has never arrived by webhook, or that the definition refuses.
	Unwanted int64 `json:"unwanted"`
	// Unsafe counts those that can't be recognized: they have no ID of their own, or their key may have expired.
	Unsafe int64 `json:"unsafe"`
	// Missed counts those that never arrived.
	Missed int64 `json:"missed"`
	// Retrying counts the missed events that the provider may still deliver. They are recovered like the others; a late delivery
	// is a duplicate.
	Retrying int64 `json:"retrying"`
	// Redeliverable counts the missed events that only the provider can send, again.
	Redeliverable int64 `json:"redeliverable"`
	// Asked counts the missed events that the provider was asked to send again.
	Asked int64 `json:"asked"`
	// Recovered counts the missed events whose processing has started.
	Recovered int64 `json:"recovered"`
	// Arrived counts the missed events that have arrived in the meantime.
	Arrived int64 `json:"arrived"`
	// Failed counts the missed events that couldn't be started.
	Failed int64 `json:"failed"`
	// FirstMissed and LastMissed are the times of the first and the last missed event; absent without any.
	FirstMissed time.Time `json:"first_missed,omitzero"`
	LastMissed  time.Time `json:"last_missed,omitzero"`
	// Refused counts the provider's requests that were refused from the first missed event on, until the end of the recovery's
	// time; absent while it isn't known.
	Refused *int64 `json:"refused,omitempty"`
	// Examples names the first missed events that were found, up to 20.
	Examples []MissedEvent `json:"examples,omitempty" jsonschema:"maxItems=20"`
	// Problem is why it is paused or waits, or the latest reason for a failed event.
	Problem string `json:"problem,omitempty"`
	// RetryAt is when it asks the provider again after a problem; absent or past if it doesn't wait.
	RetryAt time.Time `json:"retry_at,omitzero"`

	// Walk is the position in the list: opaque, nil before the first page and after the last.
	Walk json.RawMessage `json:"-"`
}

// RecoveryCut is why a recovery begins later than asked.
type RecoveryCut string

// The reasons.
const (
	// CutReach: the provider's list doesn't go back further. What happened before can't be known.
	CutReach RecoveryCut = "reach"
	// CutSwitchedOn: recovery was switched on then, or the dedupe window extended.
	CutSwitchedOn RecoveryCut = "switched_on"
)

// MissedEvent names an event that never arrived.
type MissedEvent struct {
	WorkflowID string    `json:"workflow_id"`
	Type       string    `json:"type"`
	At         time.Time `json:"at"`
}

// MaxExamples bounds Recovery.Examples.
const MaxExamples = 20

// HasReadList reports whether the list has been read to its end.
func (r Recovery) HasReadList() bool { return !r.Since.IsZero() && r.Walk == nil }

// Started counts the missed events that need nothing more.
func (r Recovery) Started() int64 { return r.Recovered + r.Arrived + r.Failed + r.Asked }

// Unasked counts the missed events that only the provider can send, and that it wasn't asked for.
func (r Recovery) Unasked() int64 { return max(0, r.Redeliverable-r.Asked-r.Failed) }

// Share returns the progress, from 0 to 1. While it reads the list, it isn't known how much is left.
func (r Recovery) Share() float64 {
	switch {
	case r.State == Completed:
		return 1
	case !r.HasReadList() || r.Missed == 0:
		return 0
	}
	return min(float64(r.Started())/float64(r.Missed), 1)
}

// EventList describes a provider's list of events.
type EventList struct {
	// Reach is how far back it goes, Overlap how much later than its time an event may appear in it, and Settle the age from which
	// events are read.
	Reach, Overlap, Settle time.Duration
	Dedupe                 DedupeWindows
	// NeedsTarget: there is no list without a target.
	NeedsTarget bool
}

// DedupeWindows are the times for which redeliveries of a provider's events are duplicates; 0 means forever.
type DedupeWindows struct {
	Shortest, Longest event.Duration
	// All names each window with its event types. It differs whenever one of them does.
	All string
}

// RecoveryMark records how far a list has been read.
type RecoveryMark struct {
	Provider, Target string
	// SwitchedOn is since when recovery is on, with at least the present dedupe window.
	SwitchedOn time.Time
	// Watermark is the time until which everything in the list is here; zero before the first recovery.
	Watermark time.Time
	// WalkedAt is when a recovery has last read everything in the list; zero if none has.
	WalkedAt time.Time
}

// wholeEvery is how often a scheduled recovery reads everything in a list.
const wholeEvery = 24 * time.Hour

// Due returns the recovery of the list that its schedule starts.
func (m RecoveryMark) Due(now time.Time) Recovery {
	return Recovery{
		Base: New(KindRecovery.Rates().Default), Provider: m.Provider, Target: m.Target,
		Whole: now.Sub(m.WalkedAt) >= wholeEvery,
	}
}

// RecoverySchedule is who has started the recoveries of the schedule.
const RecoverySchedule = "schedule"

// reachMargin is the time that a request may take: some providers refuse a filter that is older than their reach.
const reachMargin = time.Minute

// RecoveryWindow is the time range of a recovery. It is empty, with Since not before Until, if there is nothing to read yet.
type RecoveryWindow struct {
	Since, Until time.Time
	// Cut is why it begins later than Wanted; "" if it doesn't.
	Cut    RecoveryCut
	Wanted time.Time
}

// IsEmpty reports whether there is nothing to read yet.
func (w RecoveryWindow) IsEmpty() bool { return !w.Since.Before(w.Until) }

// Window returns the time range of a recovery that begins now.
func (r Recovery) Window(l EventList, m RecoveryMark, now time.Time) RecoveryWindow {
	w := RecoveryWindow{Until: now.Add(-l.Settle), Since: r.AskedSince, Wanted: r.AskedSince}
	bottom := now.Add(reachMargin - l.Reach)
	if w.Wanted.IsZero() {
		w.Wanted = m.Watermark
		if w.Wanted.IsZero() {
			w.Wanted = m.SwitchedOn
		}
		w.Since = w.Wanted.Add(-l.Overlap)
		if r.Whole && w.Since.After(bottom) {
			w.Since = bottom
		}
	}
	later := func(floor time.Time, why RecoveryCut) {
		if w.Since.Before(floor) {
			w.Since = floor
			if w.Wanted.Before(floor) {
				w.Cut = why
			}
		}
	}
	if !r.AcceptDuplicates {
		later(m.SwitchedOn, CutSwitchedOn)
	}
	later(bottom, CutReach)
	return w
}

// RecoveryItem is an event of a list.
type RecoveryItem struct {
	Receipt event.Receipt
	Lane    event.Lane // LaneBulk for the bulk lane
	Body    []byte
	// At is the time in the list.
	At time.Time
	// Retrying: the provider may still deliver it.
	Retrying bool
	// Path is that of one more request that a missed event needs: for its body, or, if it is Redeliverable, so that the provider
	// sends it again. "" without.
	Path          string
	Redeliverable bool
	// IsDelivered: it is an attempt that has succeeded, of a log of deliveries. No other attempt of it is a missed event.
	IsDelivered bool
	// AnyType: it is recovered even if none of its type has ever arrived.
	AnyType bool
}

// RecoveryPage is a page of a list.
type RecoveryPage struct {
	// Waiting has the workflow IDs of items whose event waits in Temporal, and which PostgreSQL may not have.
	Waiting map[string]bool
	// Next is the position after the page; nil after the last.
	Next json.RawMessage
	// Listed, Unwanted and Unsafe count events of the page; Items are those that are neither unwanted nor unsafe.
	Listed, Unwanted, Unsafe int64
	Items                    []RecoveryItem
	// Redelivers: the provider may be asked to send events again.
	Redelivers bool
}

// RecoveryStart counts what has become of some missed events.
type RecoveryStart struct {
	Recovered, Arrived, Failed, Asked int64
	// Problem is the reason for the latest failure.
	Problem string
	// Left has the workflow IDs of those that it couldn't start itself, and whether it has tried. The schedule doesn't report them
	// again.
	Left map[string]bool
}

// ListError says why a page of a list couldn't be read. Its text never contains a credential or anything of the answer.
type ListError struct {
	Text string
	// IsTemporary: the page may be readable later. Otherwise an operator must do something about it.
	IsTemporary bool
	// IsOfEvent: it is a problem of what was asked for, such as one event. Others may be readable.
	IsOfEvent bool
	// RetryAfter is how long the provider asks to wait; 0 if it doesn't.
	RetryAfter time.Duration
}

func (e *ListError) Error() string { return e.Text }
