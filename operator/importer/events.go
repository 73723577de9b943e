package importer

import (
	"strings"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// The statuses that an event may have had in the previous system.
const (
	statusProcessed  = "processed"
	statusPending    = "pending"
	statusProcessing = "processing"
	statusFailed     = "failed"
	statusPermanent  = "permanently_failed"
)

var statuses = []string{statusProcessed, statusPending, statusProcessing, statusFailed, statusPermanent}

// readKey reads a key as the previous system had it, or finds the keys of a stored body.
func (r *Reader) readKey(of *record, now time.Time) (items []operation.ImportItem, isExpired bool) {
	p, ok := r.provider(of)
	seen, expires := of.past("first_seen", true), of.time("expires_at")
	receipts := r.receipts(of, p, seen)
	if !expires.IsZero() && !expires.After(seen) && len(of.problems) == 0 {
		of.wrong("expires_at", "does not lie after first_seen")
	}
	if !ok || len(of.problems) > 0 {
		return nil, false
	}
	for _, found := range receipts {
		key := event.Receipt{
			ID: operation.KeyOwnerID(p.Name(), found.Key), Provider: p.Name(), Key: found.Key, KeyFrom: found.KeyFrom, ReceivedAt: seen,
			DedupeWindow: found.DedupeWindow,
		}
		if !expires.IsZero() {
			key.DedupeWindow = event.Duration(expires.Sub(seen))
		}
		if key.DedupeWindow > 0 && !seen.Add(time.Duration(key.DedupeWindow)).After(now) {
			isExpired = true
			continue
		}
		items = append(items, operation.ImportItem{Record: operation.ImportKey, Line: of.line, Receipt: key})
	}
	return items, isExpired
}

// readEvent reads a processed event, or an unprocessed one: a dead letter.
func (r *Reader) readEvent(of *record, kind operation.ImportRecord) (items []operation.ImportItem) {
	p, ok := r.provider(of)
	received := of.past("received_at", true)
	origin := event.Imported{OccurredAt: of.past("occurred_at", false)}
	if n := of.whole("attempts"); n != nil {
		origin.Attempts = int(min(*n, maxAttempts))
	}
	correlation := of.text("correlation_id")
	trouble := readTrouble(of, kind, received, origin.Attempts)
	if !of.hasBody() {
		of.wrong("body", "is missing")
	}
	receipts := r.receipts(of, p, received)
	if !ok || len(of.problems) > 0 {
		return nil
	}
	for _, found := range receipts {
		imported := origin
		found.Imported, found.CorrelationID = &imported, correlation
		found.ID = operation.ImportedID(p.Name(), found.Key, received)
		item := operation.ImportItem{Record: operation.ImportEvent, Line: of.line, Receipt: found.Receipt, Body: found.body}
		if trouble != nil {
			one := *trouble
			item.Record, item.Failure = operation.ImportDeadLetter, &one
		}
		items = append(items, item)
	}
	return items
}

// maxAttempts fits its column by a wide margin.
const maxAttempts = 1_000_000

// readTrouble reads the failure; nil for a processed event.
func readTrouble(of *record, kind operation.ImportRecord, received time.Time, attempts int) *operation.ImportFailure {
	status := of.text("status")
	if status == "" {
		status = map[operation.ImportRecord]string{
			operation.ImportEvent: statusProcessed, operation.ImportDeadLetter: statusFailed,
		}[kind]
	}
	t := &operation.ImportFailure{
		Exhausted: status == statusPermanent, Attempts: attempts, Error: of.text("error"),
		FirstFailedAt: of.past("first_failed_at", false), LastFailedAt: of.past("last_failed_at", false),
	}
	if _, err := word.Choose(status, statuses); err != nil {
		of.wrong("status", "want one of %s", strings.Join(statuses, ", "))
		return nil
	}
	if status == statusProcessed {
		if kind == operation.ImportDeadLetter {
			of.wrong("status", "a dead letter is not processed: it is an event")
		}
		return nil
	}
	if t.LastFailedAt.IsZero() {
		t.LastFailedAt = received
	}
	if t.FirstFailedAt.IsZero() || t.FirstFailedAt.After(t.LastFailedAt) {
		t.FirstFailedAt = t.LastFailedAt
	}
	return t
}

type found struct {
	event.Receipt

	body []byte
}

// receipts returns the receipts of a line's events, as the ingress would make them, with the key given in the line or found by
// the current definition. If the key is given, there is one receipt without a body.
func (r *Reader) receipts(of *record, p *providers.Provider, received time.Time) []found {
	key, source := of.text("key"), of.text("source")
	request := &auth.Request{Header: lower(of.parts("headers")), Query: of.parts("query"), PathParams: firsts(of.parts("path"))}
	body, isExact, hasBody := of.body()
	request.Body = body
	switch {
	case p == nil || len(of.problems) > 0:
		return nil
	case !hasBody && key == "":
		of.wrong("key", "is missing, and without a body it can't be computed")
		return nil
	case !hasBody:
		return []found{{Receipt: event.Receipt{
			Provider: p.Name(), Source: source, Key: event.CanonicalKey(p.Name(), key), KeyFrom: event.KeyFromEvent, ReceivedAt: received,
			DedupeWindow: p.DedupeWindow(""),
		}}}
	}
	items, err := p.SplitStored(request)
	if err != nil {
		of.wrong("body", "takes too long to be read")
		return nil
	}
	if key != "" && len(items) != 1 {
		of.wrong("key", "the body holds %d events: give no key, or a line for each", len(items))
		return nil
	}
	var all []found
	for _, item := range items {
		all = append(all, found{receiptOf(item, received), item.Body})
		last := &all[len(all)-1].Receipt
		if source != "" {
			last.Source = source
		}
		switch {
		case key != "":
			last.Key, last.KeyFrom = event.CanonicalKey(p.Name(), key), event.KeyFromEvent
		case item.KeyFrom == event.KeyFromNothing:
			of.wrong("body", "today's definition finds no key in it: give one as key")
		case item.KeyFrom == event.KeyFromBody && !isExact && !item.OfValue:
			of.wrong("body", "the key of this event is the hash of its bytes, and %s", of.whyInexact())
		}
	}
	return all
}

// receiptOf sets no fingerprint: what the previous system kept may differ from the bytes that were sent.
func receiptOf(item reading.Item, received time.Time) event.Receipt {
	r := item.Receipt
	r.Fingerprint, r.Earlier, r.ReceivedAt = "", nil, received
	return r
}

func lower(parts map[string][]string) map[string][]string {
	all := make(map[string][]string, len(parts))
	for name, values := range parts {
		all[strings.ToLower(name)] = values
	}
	return all
}

func firsts(parts map[string][]string) map[string]string {
	all := make(map[string]string, len(parts))
	for name, values := range parts {
		if len(values) > 0 {
			all[name] = values[0]
		}
	}
	return all
}
