package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// settleMargin is the time between the end of an attempt and the end of its lease, in which its result is settled.
const settleMargin = 2 * time.Second

// preparedJob is a leased delivery with its slot and target.
type preparedJob struct {
	delivery.Job

	slot   *slot
	target delivery.Target
	// targetErr is set instead of target.
	targetErr error
}

// startAll reads the events of leased deliveries, page by page, and starts the attempts. It never waits for memory: deliveries
// that don't fit return to the queue.
func (d *Dispatcher) startAll(jobs []delivery.Job) {
	slots := d.slots.claim(jobs)
	if len(jobs) == 0 {
		return
	}
	all := d.resolveTargets(jobs, slots)
	byEvent := map[string][]preparedJob{}
	var events []string
	for _, r := range all {
		if byEvent[r.EventID] == nil {
			events = append(events, r.EventID)
		}
		byEvent[r.EventID] = append(byEvent[r.EventID], r)
	}
	events = d.startCached(events, byEvent)
	for len(events) > 0 {
		read, err := d.startPage(events, byEvent)
		if err != nil {
			d.returnToQueue(events, byEvent, err)
			return
		}
		events = events[read:]
	}
}

// resolveTargets reads the targets. A delivery whose target can't be read returns to the queue.
func (d *Dispatcher) resolveTargets(jobs []delivery.Job, slots []*slot) []preparedJob {
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.SubscriptionID
	}
	ctx, cancel := context.WithTimeout(d.sending, queueTimeout)
	defer cancel()
	began := time.Now()
	targets, failed := d.queue.Targets(ctx, ids)
	for id, err := range failed {
		failed[id] = &readError{err, time.Since(began)}
	}
	all := make([]preparedJob, len(jobs))
	for i, j := range jobs {
		all[i] = preparedJob{Job: j, slot: slots[i], target: targets[j.SubscriptionID], targetErr: failed[j.SubscriptionID]}
	}
	return all
}

// startCached starts the attempts of cached events and returns the other events.
func (d *Dispatcher) startCached(events []string, byEvent map[string][]preparedJob) (others []string) {
	for _, id := range events {
		if m, ok := d.recent.get(id); ok {
			d.start(byEvent[id], m, true)
		} else {
			others = append(others, id)
		}
	}
	return others
}

// startPage reads the first events, as many as fit into a page, and starts their attempts.
func (d *Dispatcher) startPage(events []string, byEvent map[string][]preparedJob) (read int, err error) {
	ctx, cancel := context.WithTimeout(d.sending, queueTimeout)
	defer cancel()
	began := time.Now()
	messages, read, err := d.queue.Messages(ctx, events, pageBytes)
	if err == nil && read == 0 {
		err = errors.New("no event was read")
	}
	if err != nil {
		return 0, &readError{err, time.Since(began)}
	}
	for _, id := range events[:read] {
		m, ok := messages[id]
		d.start(byEvent[id], m, ok)
	}
	d.recent.keep(messages)
	return read, nil
}

// start makes the attempts of an event as far as its body fits into memory.
func (d *Dispatcher) start(jobs []preparedJob, m delivery.Message, found bool) {
	b := &payload{bytes: int64(len(m.Body))}
	for _, r := range jobs {
		if !r.slot.reserve(b) {
			d.settler.add(r.end(newResult(delivery.Ours, codeMemory, "too many event bodies are in memory")))
			continue
		}
		d.attempts.Go(func() {
			defer r.slot.release(b)
			d.attempt(r, m, found)
		})
	}
}

// returnToQueue returns leased deliveries that can't be attempted, because reading failed or the process stops.
func (d *Dispatcher) returnToQueue(events []string, byEvent map[string][]preparedJob, err error) {
	const text = "the event couldn't be read"
	result := newResult(delivery.Ours, codeStopped, text)
	if d.working.Err() == nil {
		result = readFailed(err, text)
		slog.Warn("dispatch.read_failed", "error", err.Error())
	}
	var back []pendingOutcome
	for _, id := range events {
		for _, r := range byEvent[id] {
			back = append(back, r.end(result))
		}
	}
	d.settler.add(back...)
}

// readError is a failed read and how long it took.
type readError struct {
	error

	took time.Duration
}

func (e *readError) Unwrap() error { return e.error }

// readFailed returns the result of a failed read: unavailable if the database can't be reached, unreadable if the stored data
// can't be used.
func readFailed(err error, text string) delivery.Result {
	result := newResult(delivery.Ours, codeUnreadable, text)
	if event.ClassOf(err) == event.ClassTransient {
		result.Code = codeUnavailable
	}
	if failed, ok := errors.AsType[*readError](err); ok {
		result.Took = failed.took
	}
	return result
}

func newResult(kind delivery.Kind, code, text string) delivery.Result {
	return delivery.Result{Kind: kind, Code: code, Error: text, At: time.Now()}
}

func (r preparedJob) end(result delivery.Result) pendingOutcome {
	return pendingOutcome{settle(r.target.Destination, r.Job, result, time.Now()), r.slot}
}

// attempt makes one attempt and queues its result for settling.
func (d *Dispatcher) attempt(r preparedJob, m delivery.Message, found bool) {
	var result delivery.Result
	switch {
	case errors.Is(r.targetErr, event.ErrNotFound):
		result = newResult(delivery.Final, delivery.CodeDeleted, "the subscription has been deleted")
	case r.targetErr != nil:
		result = readFailed(r.targetErr, "the destination couldn't be read")
	case !found:
		result = newResult(delivery.Final, delivery.CodeExpunged, "the event has been removed")
	default:
		result = d.send(r, m)
		r.slot.end(result)
		result = d.checkReach(r.target.Destination, result)
		d.count(r.DestinationID, result)
	}
	o := r.end(result)
	d.report(r, m, o.Outcome)
	d.settler.add(o)
}

// send makes the attempt with the sender for the kind of destination, within the destination's timeout and the lease.
func (d *Dispatcher) send(r preparedJob, m delivery.Message) (result delivery.Result) {
	if result, ok := d.awaitStart(r.Job); !ok {
		return result
	}
	r.slot.begin()
	timer := time.AfterFunc(slowAfter, r.slot.onSlow)
	defer timer.Stop()
	began := time.Now()
	end := began.Add(time.Duration(cmp.Or(r.target.Destination.Timeout, delivery.DefaultTimeout)))
	if last := r.LeasedUntil.Add(-settleMargin); last.Before(end) {
		end = last
	}
	if !end.After(began) {
		return newResult(delivery.Ours, codeStopped, "the lease ended before the attempt could start")
	}
	ctx, cancel := context.WithDeadline(d.sending, end)
	defer cancel()
	ctx, finish := d.trace(ctx, r, m)
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, "delivery.panicked", "event_id", r.EventID, "subscription", r.target.Subscription.Name,
				"value_type", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
			result = delivery.Result{Kind: delivery.Bad, Code: codePanic, Error: "the attempt panicked"}
		}
		if result.At.IsZero() {
			result.At = began
		}
		if result.Took == 0 {
			result.Took = time.Since(began)
		}
		finish(result)
	}()
	result = d.senderTo(r.target.Destination).Send(ctx, r.target, r.Job, m)
	if d.sending.Err() != nil && result.Kind != delivery.OK {
		result = newResult(delivery.Ours, codeStopped, "the process was stopped during the attempt")
	}
	return result
}

func (d *Dispatcher) senderTo(to delivery.Destination) Sender {
	switch {
	case to.Temporal != nil:
		return d.temporal
	case to.Broker() != nil:
		return d.queues
	}
	return d.http
}

// count counts an attempt that says something about the destination.
func (d *Dispatcher) count(destinationID int64, r delivery.Result) {
	if d.counter == nil || r.Kind == delivery.Ours || r.Kind == delivery.Busy || r.Kind == delivery.Blocked {
		return
	}
	d.counter.Count(destinationID, r.Kind == delivery.OK, r.Took)
}

// awaitStart waits for the start time that the rate assigned.
func (d *Dispatcher) awaitStart(j delivery.Job) (result delivery.Result, ok bool) {
	if j.StartAt.IsZero() {
		return result, true
	}
	timer := time.NewTimer(time.Until(j.StartAt))
	defer timer.Stop()
	select {
	case <-d.working.Done():
		return newResult(delivery.Ours, codeStopped, "the process was stopped before the attempt"), false
	case <-timer.C:
	}
	if time.Now().After(j.StartBy) {
		return newResult(delivery.Ours, delivery.CodeLateStart, "the attempt couldn't start in its time slot"), false
	}
	return result, true
}
