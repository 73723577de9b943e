package queues

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/providers/receiving"
)

const (
	// openTimeout bounds connecting and checking; probeEvery is the time between two probes of a connection, and probeTimeout
	// bounds one.
	openTimeout  = 15 * time.Second
	probeEvery   = 15 * time.Second
	probeTimeout = 10 * time.Second
	// Connections are retried after firstPause, which doubles up to maxPause. The problem is reported as often.
	firstPause = time.Second
	maxPause   = 30 * time.Second
	// Commits are retried after firstRetry, which doubles up to maxRetry.
	firstRetry = 250 * time.Millisecond
	maxRetry   = 5 * time.Second
	// maxSplits is how many times splitting a message may fail before it is passed on as a whole.
	maxSplits = 3
	// reportEvery is the least time between two reports of messages that can't be committed.
	reportEvery = 20 * time.Second
	// manyFailures of a message, while others are committed, mean that the message may be the cause.
	manyFailures = 6
)

// message is one delivery of a broker.
type message struct {
	Message

	// ack acknowledges the message; its failure means that it may be delivered again.
	ack func() error
	// hold reports to the broker that the message is still being handled; nil if that isn't needed.
	hold func()
	// ended is called last, whether the message was acknowledged or not; nil for nothing.
	ended func()
}

// session is a connection that reads a queue.
type session interface {
	// read delivers messages until ctx ends, or reading fails. deliver waits while too many are in flight.
	read(ctx context.Context, deliver func(message)) error
	// waiting returns how many messages the queue has that no one has read, -1 if the broker doesn't say. It fails if the
	// connection does.
	waiting(ctx context.Context) (int64, error)
	close()
}

// reader reads one queue until it is stopped.
type reader struct {
	receiving.Queue

	all   *Queues
	stop  context.CancelFunc
	done  chan struct{}
	slots chan struct{}

	mu       sync.Mutex
	problem  *ProblemError // why nothing is read; nil while connected
	held     int           // messages that couldn't be committed yet
	why      *ProblemError // of these
	lag      int64
	reported time.Time
	commits  int // messages that were committed
}

func start(q receiving.Queue, all *Queues) *reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{
		Queue: q, all: all, stop: cancel, done: make(chan struct{}), slots: make(chan struct{}, q.Prefetch), lag: -1,
		problem: problem(CodeUnreachable, "not connected yet"),
	}
	go r.run(ctx)
	return r
}

func (r *reader) reads(q receiving.Queue) bool { return reflect.DeepEqual(r.Queue, q) }

func (r *reader) run(ctx context.Context) {
	defer close(r.done)
	for failures := 0; ; failures++ {
		began := time.Now()
		err := r.session(ctx)
		if ctx.Err() != nil {
			return
		}
		r.failed(err)
		if time.Since(began) > maxPause {
			failures = 0
		}
		if !pause(ctx, firstPause, maxPause, failures) {
			return
		}
	}
}

// session connects, and reads until ctx ends or the connection breaks. It returns once the messages in flight have ended.
func (r *reader) session(ctx context.Context) (err error) {
	defer recovered("read queue "+r.Label(), &err)
	s, err := open(ctx, r.Queue, r.all.Environment, true)
	if err != nil {
		return err
	}
	defer s.close()
	r.connected()
	ctx, end := context.WithCancelCause(ctx)
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	defer end(nil)
	go r.probe(ctx, s, end)
	err = s.read(ctx, func(m message) {
		m.Provider = r.Provider
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			m.end()
			return
		}
		inFlight.Go(func() {
			defer func() { <-r.slots }()
			defer m.end()
			r.handle(ctx, m)
		})
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (m message) end() {
	if m.ended != nil {
		m.ended()
	}
}

// open connects within openTimeout. Without create, it creates no consumer and joins no group.
func open(ctx context.Context, q receiving.Queue, e Environment, create bool) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	c, err := connectionOf(q, e)
	if err != nil {
		return nil, err
	}
	switch q.Broker {
	case receiving.NATS:
		return openNATS(ctx, q, c, create)
	case receiving.RabbitMQ:
		return openRabbitMQ(ctx, q, c)
	case receiving.PubSub:
		return openPubSub(ctx, q, c)
	case receiving.SQS:
		return openSQS(ctx, q, c)
	default:
		return openKafka(ctx, q, c, create)
	}
}

// probe counts the waiting messages, and ends a session whose connection no longer responds.
func (r *reader) probe(ctx context.Context, s session, end context.CancelCauseFunc) {
	for {
		bounded, cancel := context.WithTimeout(ctx, probeTimeout)
		n, err := s.waiting(bounded)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			end(err)
			return
		}
		r.mu.Lock()
		r.lag = n
		r.mu.Unlock()
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
			return
		}
	}
}

// handle commits a message and then acknowledges it. While neither store commits, it tries again: the message stays
// unacknowledged, and since the messages in flight are bounded, no more are read.
func (r *reader) handle(ctx context.Context, m message) {
	splits, isHeld, before := 0, false, 0
	defer func() {
		if isHeld {
			r.release()
		}
	}()
	for failures := 0; ; failures++ {
		outcome, err := r.accept(ctx, m.Message)
		if err == nil {
			r.all.metrics.count(r.Queue, outcome)
			r.committed()
			if err := m.ack(); err != nil && ctx.Err() == nil {
				slog.Warn("source_queue.ack_failed", r.logged("error", err.Error())...)
			}
			return
		}
		r.all.metrics.count(r.Queue, "retried")
		var slow *SplitError
		if errors.As(err, &slow) {
			splits++
			m.Unsplit = splits >= maxSplits
		}
		if !isHeld {
			before, isHeld = r.begin(), true
		}
		r.hold(heldBy(m, err), before, failures)
		if m.hold != nil {
			m.hold()
		}
		if !pause(ctx, firstRetry, maxRetry, failures) {
			return
		}
	}
}

// accept returns a panic as a SplitError: the content of the message may be its cause.
func (r *reader) accept(ctx context.Context, m Message) (outcome string, err error) {
	returned := false
	defer func() {
		if !returned {
			err = &SplitError{Cause: err}
		}
	}()
	defer recovered("accept a message of queue "+r.Label(), &err)
	outcome, err = r.all.Accept(ctx, m)
	returned = true
	return outcome, err
}

// recovered turns a panic into an error, without its value: that may be a part of a message.
func recovered(doing string, err *error) {
	if value := recover(); value != nil { //nolint:revive // recovered itself is what is deferred
		slog.Error("source_queue.panicked", "value_type", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s: panicked with a %T", doing, value)
	}
}

func (r *reader) connected() {
	r.mu.Lock()
	r.problem = nil
	r.mu.Unlock()
	slog.Info("source_queue.connected", r.logged()...)
}

// failed reports why the queue isn't read.
func (r *reader) failed(err error) {
	p := problemOf(err)
	r.mu.Lock()
	r.problem, r.lag = p, -1
	r.mu.Unlock()
	r.report(p)
}

func (r *reader) committed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits++
}

// begin counts a message that couldn't be committed. It returns how many messages were committed before.
func (r *reader) begin() (before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held++
	return r.commits
}

// heldBy describes why a message can't be committed.
func heldBy(m message, err error) *ProblemError {
	if m.Position == "" { // RabbitMQ has none
		return problem(CodeHeld, "%s", err.Error())
	}
	return problem(CodeHeld, "message %s: %s", m.Position, err.Error())
}

// hold reports a message that can't be committed. Before is how many messages were committed before its first failure.
func (r *reader) hold(p *ProblemError, before, failures int) {
	r.mu.Lock()
	if failures >= manyFailures && r.commits-before >= r.held { // in an outage, more are held than were committed since
		p.Code = CodeMessage
	}
	r.why = p
	isDue := time.Since(r.reported) > reportEvery
	if isDue {
		r.reported = time.Now()
	}
	r.mu.Unlock()
	if isDue {
		r.report(p)
	}
}

func (r *reader) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held--; r.held == 0 {
		r.why = nil
	}
}

func (r *reader) report(p *ProblemError) {
	slog.Warn("source_queue.failed", r.logged("reason", p.Code, "error", p.Text)...)
	if r.all.Errors == nil {
		return
	}
	r.all.Errors.Record(oversight.ErrorEntry{
		At: time.Now(), Phase: event.PhaseReceive, Provider: r.Provider, Class: event.ClassTransient, Code: p.Code,
		Message: r.Broker + " " + r.Name + ": " + p.Text, Meta: map[string]string{"queue": r.Name, "broker": r.Broker},
	})
}

func (r *reader) logged(more ...any) []any {
	return append([]any{"provider", r.Provider, "broker", r.Broker, "queue", r.Name}, more...)
}

// pause waits for a time that doubles with each failure, and varies by a quarter so that processes don't retry together. It
// returns false if ctx ended.
func pause(ctx context.Context, first, longest time.Duration, failures int) bool {
	wait := min(first<<min(failures, 16), longest)
	wait += time.Duration(rand.Int64N(int64(wait) / 4)) //nolint:gosec // it needn't be unpredictable
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
