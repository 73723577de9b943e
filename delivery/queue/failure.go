package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
)

// Codes of attempts at queues, next to those of package webhook.
const (
	codeStored      = "stored"
	codeDuplicate   = "duplicate"    // the broker had the message already
	codeTimeout     = "timeout"      // no confirmation in time
	codeConnection  = "connection"   // lost before the confirmation
	codeBlocked     = "blocked"      // the broker takes no messages at the moment
	codeFull        = "full"         // the queue is
	codeUnroutable  = "unroutable"   // no queue or stream takes this message
	codeNoQueue     = "no_queue"     // the stream, exchange or topic doesn't exist
	codeWrongStream = "wrong_stream" // another stream than the declared one has stored the message
	codeCredentials = "credentials"  // the broker refuses them, or they don't allow this
	codeTooLarge    = "too_large"
	codeName        = "invalid_name" // a subject or a key can't be used
	codeBody        = "invalid_body" // the queue can't hold such a body
	codeRefused     = "refused"
)

// failed is an attempt that didn't succeed.
type failed struct {
	kind   delivery.Kind
	code   string
	reason string
}

func (f *failed) Error() string { return f.reason }

func bad(code, reason string) error { return &failed{kind: delivery.Bad, code: code, reason: reason} }

// lost is the failure of a connection that broke before the confirmation. The message may be stored.
func lost() error {
	return &failed{
		kind: delivery.Bad, code: codeConnection,
		reason: "the connection was lost before the broker confirmed the message; it may be stored, and the next attempt repeats it",
	}
}

// unconfirmed is the failure of an attempt whose time has passed. The message may be stored.
func unconfirmed(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return bad(codeTimeout, "the broker didn't confirm the message in time; it may be stored, and the next attempt repeats it")
}

// ended reports whether an attempt's time has passed. The deadline of its connection can pass a moment before the context's.
func ended(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(end) < deadlineSlack
}

const deadlineSlack = 10 * time.Millisecond

// final is the failure of an event that no retry can deliver.
func final(code, reason string) error {
	return &failed{kind: delivery.Final, code: code, reason: reason}
}

// blocked is the failure of a destination that can't be used as configured.
func blocked(code, reason string) error {
	return &failed{kind: delivery.Blocked, code: code, reason: reason}
}

// busy is the failure of a broker that works, and takes no messages at the moment.
func busy(code, reason string) error { return &failed{kind: delivery.Busy, code: code, reason: reason} }

// missing is the failure of an event for which there is no queue yet.
func missing(code, reason string) error {
	return &failed{kind: delivery.Missing, code: code, reason: reason}
}

// resultOf returns the result of an error; dialed is the last error of connecting, which clients tend to lose. It is the reason
// if a client that connects again automatically wasn't confirmed anything.
func resultOf(err, dialed error) delivery.Result {
	f, ok := errors.AsType[*failed](err)
	if ok && (f.code != codeTimeout || dialed == nil) {
		return delivery.Result{Kind: f.kind, Code: f.code, Error: f.reason, Reach: delivery.Reached}
	}
	if e, ok := errors.AsType[*webhook.PrivateAddressError](dialed); ok {
		err = e
	} else if dialed != nil && !errors.Is(err, context.Canceled) {
		err = dialed
	}
	result := webhook.Failure(err)
	result.Error = strings.ReplaceAll(strings.ReplaceAll(result.Error, " or the response isn't HTTP", ""), "endpoint", "broker")
	return result
}
