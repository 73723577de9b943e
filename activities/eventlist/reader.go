package eventlist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/client"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
	"holdfast/providers/recovery"
)

// Rates grants requests from rate limits that all processes share.
type Rates interface {
	TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error)
}

// Reader reads lists. It is safe for concurrent use.
type Reader struct {
	// Lookup returns a provider with its current definition.
	Lookup func(name string) (*providers.Provider, bool)
	// Lists returns the lists of all providers that have one. Each scrape of the metrics calls it.
	Lists  func() map[string]*recovery.List
	Client *client.Client
	Rates  Rates
	// MayRedeliver names the providers that may be asked to send events again.
	MayRedeliver []string
}

// Available returns the providers that have a list, and a credential for it, by name.
func (r *Reader) Available() []string {
	lists := r.Lists()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(lists)), func(name string) bool { return r.Client.Check(lists[name]) != nil })
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
// the context's or the database's.
func (r *Reader) Page(ctx context.Context, of operation.Recovery) (operation.RecoveryPage, error) {
	p, list, err := providers.ListOf(r.Lookup, of.Provider)
	if err != nil {
		return operation.RecoveryPage{}, &operation.ListError{Text: err.Error()}
	}
	var walk recovery.Walk
	if err := json.Unmarshal(of.Walk, &walk); err != nil {
		return operation.RecoveryPage{}, fmt.Errorf("decode position of recovery %s: %w", of.ID, err)
	}
	var page recovery.Page
	err = r.request(ctx, p, func() error {
		page, err = r.Client.Page(ctx, list, walk)
		if again, ok := walk.Restart(err); ok {
			slog.WarnContext(ctx, "recovery.restarted", "recovery_id", of.ID, "provider", of.Provider, "error", err.Error())
			page, err = recovery.Page{Next: &again}, nil
		}
		return err
	})
	if err != nil {
		return operation.RecoveryPage{}, err
	}
	items, err := itemsOf(ctx, p, list, of, page, time.Now())
	items.Redelivers = slices.Contains(r.MayRedeliver, of.Provider)
	return items, err
}

// Complete returns a missed event with the body that its Path has. The error is an *operation.ListError, or that of the context
// or the database.
func (r *Reader) Complete(
	ctx context.Context, of operation.Recovery, item operation.RecoveryItem,
) (operation.RecoveryItem, error) {
	p, list, err := r.followUpOf(of.Provider)
	if err != nil {
		return item, err
	}
	var body []byte
	err = r.request(ctx, p, func() error {
		body, err = r.Client.Detail(ctx, list.FollowUp, of.Target, item.Path)
		return err
	})
	if err != nil {
		return item, err
	}
	found, err := split(ctx, p, list.WebhookOf(body, item.Receipt.Headers))
	if err != nil {
		return item, fmt.Errorf("split the body of %s: %w", item.Receipt.WorkflowID(), err)
	}
	if len(found) != 1 || found[0].Key != item.Receipt.Key {
		return item, &operation.ListError{Text: "the body from recover.detail is of another event", IsOfEvent: true}
	}
	made := newItem(p, list, of, found[0], item.At, time.Now())
	made.Body = found[0].Body
	return made, nil
}

// Redeliver asks the provider to send a missed event again. It is false if the provider may not be asked. The error is that of
// Complete.
func (r *Reader) Redeliver(ctx context.Context, of operation.Recovery, item operation.RecoveryItem) (asked bool, err error) {
	if !slices.Contains(r.MayRedeliver, of.Provider) {
		return false, nil
	}
	p, list, err := r.followUpOf(of.Provider)
	if err != nil {
		return false, err
	}
	err = r.request(ctx, p, func() error { return r.Client.Redeliver(ctx, list.FollowUp, of.Target, item.Path) })
	return err == nil, err
}

func (r *Reader) followUpOf(provider string) (*providers.Provider, *recovery.List, error) {
	p, list, err := providers.ListOf(r.Lookup, provider)
	switch {
	case err != nil:
		return nil, nil, &operation.ListError{Text: err.Error()}
	case list.FollowUp == nil:
		return nil, nil, &operation.ListError{Text: "the definition has lost `recover.detail` or `recover.redeliver`"}
	}
	return p, list, nil
}

// request sends a request at the rate of the provider's API, and again if its answer can't be read.
func (r *Reader) request(ctx context.Context, p *providers.Provider, send func() error) error {
	for try := 1; ; try++ {
		if err := r.wait(ctx, p); err != nil {
			return err
		}
		err := send()
		var failed *recovery.Error
		switch {
		case !errors.As(err, &failed):
			return err
		case failed.Kind != recovery.KindUnreadable:
			return &operation.ListError{
				Text: failed.Text, RetryAfter: failed.RetryAfter, IsTemporary: failed.IsTemporary(),
				IsOfEvent: failed.Kind == recovery.KindRefused,
			}
		case try == unreadableTries:
			return &operation.ListError{Text: failed.Text, IsOfEvent: true}
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

// split returns the events of a request from a list. A large one waits for its turn.
func split(ctx context.Context, p *providers.Provider, r *auth.Request) ([]reading.Item, error) {
	done, err := decode.Turn(ctx, len(r.Body))
	if err != nil {
		return nil, err
	}
	defer done()
	return p.SplitStored(r)
}

// itemsOf turns the items of a page into events.
func itemsOf(
	ctx context.Context, p *providers.Provider, list *recovery.List, of operation.Recovery, page recovery.Page, now time.Time,
) (all operation.RecoveryPage, err error) {
	all.Listed = int64(len(page.Items))
	if page.Next != nil {
		if all.Next, err = json.Marshal(page.Next); err != nil {
			return all, fmt.Errorf("encode position of recovery %s: %w", of.ID, err)
		}
	}
	for _, listed := range page.Items {
		if list.FollowUp != nil && listed.Path == "" || list.IsByDelivery() && listed.Delivery == "" {
			all.Unsafe++
			continue
		}
		if list.IsByDelivery() {
			all.Items = append(all.Items, newDelivery(p, of, listed))
			continue
		}
		found, err := split(ctx, p, listed.Request)
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
			made := newItem(p, list, of, item, listed.Time, now)
			made.IsDelivered = listed.IsDelivered
			if made.Path = listed.Path; made.Path == "" {
				made.Body = item.Body
			}
			all.Items = append(all.Items, made)
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

// isSafe reports whether an event can be recognized by the key of its item. The hash of a body from a list differs from the hash
// of the webhook. A key that may have expired proves nothing, unless an operator accepts duplicates.
func isSafe(item reading.Item, at time.Time, of operation.Recovery, now time.Time) bool {
	expires := at.Add(time.Duration(item.DedupeWindow))
	return item.KeyFrom == event.KeyFromEvent && item.Content == "" &&
		(item.DedupeWindow == 0 || expires.After(now) || of.AcceptDuplicates)
}

// newDelivery returns an attempt of a log of deliveries. The key of its event begins with its delivery ID.
func newDelivery(p *providers.Provider, of operation.Recovery, listed recovery.Item) operation.RecoveryItem {
	key := event.CanonicalKey(p.Name(), listed.Delivery)
	return operation.RecoveryItem{
		Receipt: event.Receipt{
			ID: operation.ImportedID(p.Name(), key, listed.Time), Provider: p.Name(), Key: key, ReceivedAt: listed.Time,
			RequestID: "recovery/" + of.ID, Via: event.ViaRecover,
		},
		At: listed.Time, AnyType: true, Path: listed.Path, Redeliverable: true, IsDelivered: listed.IsDelivered,
	}
}

func newItem(
	p *providers.Provider, list *recovery.List, of operation.Recovery, item reading.Item, at, now time.Time,
) operation.RecoveryItem {
	at = at.UTC()
	r := item.Receipt
	r.Fingerprint, r.Content, r.Earlier = "", "", nil // of the webhook's body, which the item isn't
	r.ID, r.ReceivedAt, r.RequestID = operation.ImportedID(p.Name(), item.Key, at), at, "recovery/"+of.ID
	r.Via, r.Undelivered = event.ViaRecover, of.Undelivered
	made := operation.RecoveryItem{
		Receipt: r,
		At:      at, AnyType: list.Types != nil, Redeliverable: list.FollowUp != nil && list.FollowUp.Redelivers,
		Retrying: list.Retrying > 0 && now.Sub(at) < time.Duration(list.Retrying),
	}
	if item.Bulk {
		made.Lane = event.LaneBulk
	}
	return made
}
