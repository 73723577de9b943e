package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// answerMargin is kept between the end of an attempt and that of its lease, for its outcome to be settled.
const answerMargin = 2 * time.Second

// ready is a delivery on its way to its attempt.
type ready struct {
	delivery.Job

	slot   *slot
	target delivery.Target
	// again is why there is no target.
	again error
}

// begin reads what was leased, page by page, and starts the attempts. It never waits for memory: what there is none for is given
// back.
func (d *Dispatcher) begin(jobs []delivery.Job) {
	if len(jobs) == 0 {
		return
	}
	all := d.aim(jobs)
	byEvent := map[string][]ready{}
	var events []string
	for _, r := range all {
		if byEvent[r.EventID] == nil {
			events = append(events, r.EventID)
		}
		byEvent[r.EventID] = append(byEvent[r.EventID], r)
	}
	events = d.beginRecent(events, byEvent)
	for len(events) > 0 {
		read, err := d.beginPage(events, byEvent)
		if err != nil {
			d.giveBack(events, byEvent, err)
			return
		}
		events = events[read:]
	}
}

// aim finds the targets. A target that cannot be read gives its deliveries back.
func (d *Dispatcher) aim(jobs []delivery.Job) []ready {
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.SubscriptionID
	}
	ctx, cancel := context.WithTimeout(d.sending, queueLimit)
	defer cancel()
	began := time.Now()
	targets, failed := d.queue.Targets(ctx, ids)
	for id, err := range failed {
		failed[id] = &unreadError{err, time.Since(began)}
	}
	all := make([]ready, len(jobs))
	for i, s := range d.slots.take(jobs) {
		j := jobs[i]
		all[i] = ready{Job: j, slot: s, target: targets[j.SubscriptionID], again: failed[j.SubscriptionID]}
	}
	return all
}

// beginRecent starts the attempts of the events that were read just now, and gives the others.
func (d *Dispatcher) beginRecent(events []string, byEvent map[string][]ready) (others []string) {
	for _, id := range events {
		if m, ok := d.recent.get(id); ok {
			d.start(byEvent[id], m, true)
		} else {
			others = append(others, id)
		}
	}
	return others
}

// beginPage starts the attempts of the first events, as many as were read.
func (d *Dispatcher) beginPage(events []string, byEvent map[string][]ready) (read int, err error) {
	ctx, cancel := context.WithTimeout(d.sending, queueLimit)
	defer cancel()
	began := time.Now()
	messages, read, err := d.queue.Messages(ctx, events, page)
	if err != nil || read == 0 {
		return 0, &unreadError{errors.Join(err, errNothingRead(read)), time.Since(began)}
	}
	for _, id := range events[:read] {
		m, ok := messages[id]
		d.start(byEvent[id], m, ok)
	}
	d.recent.keep(messages)
	return read, nil
}

// start makes the attempts of an event for which there is memory.
func (d *Dispatcher) start(jobs []ready, m delivery.Message, found bool) {
	b := &payload{bytes: int64(len(m.Body))}
	for _, r := range jobs {
		if !r.slot.hold(b) {
			d.settler.add(r.end(ours(codeMemory, "too many bodies are held in memory")))
			continue
		}
		d.attempts.Go(func() {
			defer r.slot.release(b)
			d.attempt(r, m, found)
		})
	}
}

func errNothingRead(read int) error {
	if read == 0 {
		return errors.New("no event was read")
	}
	return nil
}

// giveBack lets deliveries wait again that were leased, and cannot be attempted: nothing can be read, or the process stops.
func (d *Dispatcher) giveBack(events []string, byEvent map[string][]ready, err error) {
	const text = "the event could not be read"
	result := ours(codeStopped, text)
	if d.working.Err() == nil {
		result = unread(err, text)
		slog.Warn("dispatch.read_failed", "error", err.Error())
	}
	var back []outcome
	for _, id := range events {
		for _, r := range byEvent[id] {
			back = append(back, r.end(result))
		}
	}
	d.settler.add(back...)
}

// unreadError is why something could not be read, and after how long.
type unreadError struct {
	error

	took time.Duration
}

func (e *unreadError) Unwrap() error { return e.error }

// unread is the result of what could not be read: away if the database could not be asked, unread if what it has is of no use.
func unread(err error, text string) delivery.Result {
	result := ours(codeUnread, text)
	if event.ClassOf(err) == event.ClassTransient {
		result.Code = codeAway
	}
	if failed, ok := errors.AsType[*unreadError](err); ok {
		result.Took = failed.took
	}
	return result
}

func ours(code, text string) delivery.Result {
	return delivery.Result{Kind: delivery.Ours, Code: code, Error: text, At: time.Now()}
}

func final(code, text string) delivery.Result {
	return delivery.Result{Kind: delivery.Final, Code: code, Error: text, At: time.Now()}
}

func (r ready) end(result delivery.Result) outcome {
	return outcome{judge(r.target.Destination, r.Job, result, time.Now()), r.slot}
}

// attempt makes one attempt, and has its outcome settled.
func (d *Dispatcher) attempt(r ready, m delivery.Message, found bool) {
	var result delivery.Result
	switch {
	case errors.Is(r.again, event.ErrNotFound):
		result = final(delivery.CodeDeleted, "the subscription has been deleted")
	case r.again != nil:
		result = unread(r.again, "the destination could not be read")
	case !found:
		result = final(delivery.CodeExpunged, "the event has been removed")
	default:
		result = d.send(r, m)
		r.slot.end(result)
		result = d.judgeReach(r.DestinationID, result)
	}
	o := r.end(result)
	d.report(r, m, o.Settled)
	d.settler.add(o)
}

// send has the attempt made by the sender of its kind, within the destination's time and that of the lease.
func (d *Dispatcher) send(r ready, m delivery.Message) (result delivery.Result) {
	if result, ok := d.awaitStart(r.Job); !ok {
		return result
	}
	r.slot.begin()
	timer := time.AfterFunc(provenWithin, r.slot.passes)
	defer timer.Stop()
	began := time.Now()
	end := began.Add(timeoutOf(r.target.Destination))
	if last := r.LeasedUntil.Add(-answerMargin); last.Before(end) {
		end = last
	}
	if !end.After(began) {
		return ours(codeStopped, "the lease has ended before the attempt could begin")
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
	sender := d.http
	if r.target.Destination.Temporal != nil {
		sender = d.temporal
	}
	result = sender.Send(ctx, r.target, r.Job, m)
	if d.sending.Err() != nil && result.Kind != delivery.OK {
		result = ours(codeStopped, "the process was stopped during the attempt")
	}
	return result
}

// awaitStart waits for the time at which a rate lets the attempt start.
func (d *Dispatcher) awaitStart(j delivery.Job) (result delivery.Result, ok bool) {
	if j.StartAt.IsZero() {
		return result, true
	}
	timer := time.NewTimer(time.Until(j.StartAt))
	defer timer.Stop()
	select {
	case <-d.working.Done():
		return ours(codeStopped, "the process was stopped before the attempt"), false
	case <-timer.C:
	}
	if time.Now().After(j.StartBy) {
		return ours(delivery.CodeMissed, "the attempt could not start at its time"), false
	}
	return result, true
}

func timeoutOf(d delivery.Destination) time.Duration {
	if d.Timeout > 0 {
		return time.Duration(d.Timeout)
	}
	return time.Duration(delivery.DefaultTimeout)
}

// judgeReach takes a connection that failed for our own fault while we are cut off.
func (d *Dispatcher) judgeReach(destination int64, result delivery.Result) delivery.Result {
	if result.Kind == delivery.Ours {
		return result
	}
	failed := unreached(result)
	if cutOff := d.reach.note(destination, !failed, time.Now()); failed && cutOff {
		result.Kind, result.Error = delivery.Ours, "no destination can be reached from here: "+result.Error
		result.Code = codeCutOff
	}
	return result
}

// cutOff tells people when we are cut off, and when that is over.
func (d *Dispatcher) cutOff(begins bool, lasted time.Duration) {
	if begins {
		text := "more than half of the destinations stopped connecting within " + reachWindow.String() +
			": it is taken for trouble of our own network; no attempt counts and no breaker opens"
		slog.Error("dispatch.cut_off", "error", text)
		d.alert(codeCutOff, event.ClassTransient, "", text)
		return
	}
	text := "destinations connect again, after " + lasted.Round(time.Second).String()
	slog.Warn("dispatch.connected_again", "error", text)
	d.alert("connected_again", event.ClassTransient, "", text)
}
