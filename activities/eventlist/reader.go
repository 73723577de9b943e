package eventlist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/providers"
	"holdfast/providers/definition"
	"holdfast/providers/recovery"
	"holdfast/providers/recovery/client"
)

// Rates grants requests from rate limits that all processes share.
type Rates interface {
	TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error)
}

// Reader reads lists. It is safe for concurrent use.
type Reader struct {
	// Lookup returns a provider with its current definition.
	Lookup func(name string) (*providers.Provider, bool)
	// Names returns the names of all providers.
	Names  func() []string
	Client *client.Client
	Rates  Rates
}

// Available returns the providers that have a list, and a credential for it, by name.
func (r *Reader) Available() []string {
	return slices.DeleteFunc(r.Names(), func(name string) bool {
		_, err := r.Describe(name)
		return err != nil
	})
}

// Describe returns what the definition says about a provider's list. The error is an event.Error of class rejected if there is no
// list, or no credential for it.
func (r *Reader) Describe(provider string) (operation.EventList, error) {
	p, list, err := providers.ListOf(r.Lookup, provider)
	if err != nil {
		return operation.EventList{}, err
	}
	if err := r.Client.Check(list); err != nil {
		return operation.EventList{}, event.Rejectf("not_configured", "%s", err.Error())
	}
	return operation.EventList{
		Reach: time.Duration(list.Reach), Overlap: time.Duration(list.Overlap), Settle: time.Duration(list.Settle),
		Dedupe: windowsOf(p), NeedsTarget: list.NeedsTarget(),
	}, nil
}

func windowsOf(p *providers.Provider) (w operation.DedupeWindows) {
	w.Shortest, w.Longest, w.All = p.DedupeWindows()
	return w
}

// Begin returns the position before the first page of a window.
func (r *Reader) Begin(provider, target string, since, until time.Time) (json.RawMessage, error) {
	_, list, err := providers.ListOf(r.Lookup, provider)
	if err != nil {
		return nil, err
	}
	walk, err := list.Begin(since, until, target)
	if err != nil {
		return nil, event.Rejectf("invalid_walk", "%s", err.Error())
	}
	return json.Marshal(walk)
}

// unreadableTries is how often a page is read whose answer is incomplete, or not what the definition says.
const unreadableTries = 3

// Page reads the page at the position of a recovery, at the rate of the provider's API. The error is an *operation.ListError, or
// that of the context or the database.
func (r *Reader) Page(ctx context.Context, of operation.Recovery) (operation.RecoveryPage, error) {
	p, list, err := providers.ListOf(r.Lookup, of.Provider)
	if err != nil {
		return operation.RecoveryPage{}, &operation.ListError{Text: err.Error()}
	}
	var walk recovery.Walk
	if err := json.Unmarshal(of.Walk, &walk); err != nil {
		return operation.RecoveryPage{}, fmt.Errorf("decode position of recovery %s: %w", of.ID, err)
	}
	page, err := r.read(ctx, p, list, walk)
	if err != nil {
		return operation.RecoveryPage{}, err
	}
	return itemsOf(p, list, of, page, time.Now())
}

func (r *Reader) read(
	ctx context.Context, p *providers.Provider, list *recovery.List, walk recovery.Walk,
) (recovery.Page, error) {
	for try := 1; ; try++ {
		if err := r.wait(ctx, p); err != nil {
			return recovery.Page{}, err
		}
		page, err := r.Client.Page(ctx, list, walk)
		var failed *recovery.Error
		switch {
		case !errors.As(err, &failed):
			return page, err
		case failed.Kind != recovery.KindUnreadable:
			return page, &operation.ListError{Text: failed.Text, RetryAfter: failed.RetryAfter, IsTemporary: failed.IsTemporary()}
		case try == unreadableTries:
			return page, &operation.ListError{Text: failed.Text}
		}
	}
}

// wait returns once the rate of the provider's API allows one more request, of all processes together.
func (r *Reader) wait(ctx context.Context, p *providers.Provider) error {
	rate := p.APIRate()
	claim := []event.RateClaim{{Name: "api:" + p.Name(), Requests: rate.Requests, Per: time.Duration(rate.Per), Want: 1}}
	for {
		grants, err := r.Rates.TakeRates(ctx, claim)
		if err != nil || grants[0].Granted > 0 {
			return err
		}
		if err := activities.Pause(ctx, grants[0].Wait); err != nil {
			return err
		}
	}
}

// itemsOf turns the items of a page into events.
func itemsOf(
	p *providers.Provider, list *recovery.List, of operation.Recovery, page recovery.Page, now time.Time,
) (all operation.RecoveryPage, err error) {
	all.Listed = int64(len(page.Items))
	if page.Next != nil {
		if all.Next, err = json.Marshal(page.Next); err != nil {
			return all, fmt.Errorf("encode position of recovery %s: %w", of.ID, err)
		}
	}
	for _, listed := range page.Items {
		found, err := p.SplitStored(listed.Request)
		if err != nil {
			return all, fmt.Errorf("split an item of %s: %w", p.Name(), err)
		}
		if len(found) != 1 {
			all.Unsafe++
			continue
		}
		item := found[0]
		switch {
		case item.Refused != "" || list.Types != nil && !matches(list.Types, item.Type):
			all.Unwanted++
		case !isSafe(item, listed.Time, of, now):
			all.Unsafe++
		default:
			all.Items = append(all.Items, newItem(p, list, of, item, listed.Time, now))
		}
	}
	return all, nil
}

func matches(types []definition.Glob, eventType string) bool {
	for _, g := range types {
		if g.Match(eventType) {
			return true
		}
	}
	return false
}

// isSafe reports whether an event can be recognized by the key of its item. The hash of a body from a list isn't that of the
// webhook. A key that may have expired proves nothing, unless an operator accepts duplicates.
func isSafe(item providers.Item, at time.Time, of operation.Recovery, now time.Time) bool {
	expires := at.Add(time.Duration(item.DedupeWindow))
	return item.KeyFrom == event.KeyFromEvent && item.Content == "" &&
		(item.DedupeWindow == 0 || expires.After(now) || of.AcceptDuplicates)
}

func newItem(
	p *providers.Provider, list *recovery.List, of operation.Recovery, item providers.Item, at, now time.Time,
) operation.RecoveryItem {
	at = at.UTC()
	made := operation.RecoveryItem{
		Receipt: event.Receipt{
			ID: operation.ImportedID(p.Name(), item.Key, at), Provider: p.Name(), Source: item.Source, Key: item.Key,
			KeyFrom: item.KeyFrom, DedupeWindow: item.DedupeWindow,
			Certain: item.Certain, Type: item.Type, Priority: item.Priority, ReceivedAt: at,
			Headers: item.Headers, Query: item.Query, Path: item.Path, Root: item.Root, RequestID: "recovery/" + of.ID,
			Via: event.ViaRecover, Undelivered: of.Undelivered,
		},
		Body: item.Body, At: at, AnyType: list.Types != nil,
		Retrying: list.Retrying > 0 && now.Sub(at) < time.Duration(list.Retrying),
	}
	if item.Lane == definition.LaneBulk {
		made.Lane = event.LaneBulk
	}
	return made
}
