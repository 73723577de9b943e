package queues

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/event/oversight"
	"holdfast/internal/proxy"
	"holdfast/providers/receiving"
)

// Environment has what definitions name, and each process has its own.
type Environment interface {
	// Whole returns the value of a variable, or of its file; "" if it isn't set.
	Whole(variable string) (string, error)
	// Proxies returns the forward proxies, and the one for deliveries, which no queue uses unless it names it.
	Proxies() (all proxy.List, standard *proxy.Proxy)
}

// Options configure Queues.
type Options struct {
	Environment Environment
	// Accept makes the events of a message durable; see ingress.Server.AcceptMessage.
	Accept func(ctx context.Context, m Message) (outcome string, err error)
	// Errors receives entries for the error log; nil if there is none.
	Errors ErrorSink
}

// ErrorSink adds entries to the error log. Record neither blocks nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// Queues reads queues in the background.
type Queues struct {
	Options

	// changing is locked while readers are started or stopped. It guards the fields up to mu.
	changing sync.Mutex
	metrics  *metrics // nil until there is a queue
	closed   bool

	mu      sync.Mutex
	readers map[string]*reader // by Queue.Label
}

// New creates Queues that read nothing yet.
func New(o Options) *Queues { return &Queues{Options: o, readers: map[string]*reader{}} }

// closeTimeout bounds the wait for a reader whose queue is no longer read: its messages in flight are committed within it.
const closeTimeout = 10 * time.Second

// Read starts and stops readers so that exactly these queues are read. A queue whose settings haven't changed keeps its reader.
func (q *Queues) Read(wanted []receiving.Queue) error {
	q.changing.Lock()
	defer q.changing.Unlock()
	if q.closed {
		return nil
	}
	stale, added := q.keep(wanted)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := stop(ctx, stale)
	if q.metrics == nil && len(added) > 0 {
		var failed error
		if q.metrics, failed = newMetrics(q.statuses); failed != nil {
			return errors.Join(err, failed)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range added {
		q.readers[one.Label()] = start(one, q)
	}
	return err
}

// keep keeps the readers of these queues. It returns those to stop, and the queues without a reader.
func (q *Queues) keep(wanted []receiving.Queue) (stale map[string]*reader, added []receiving.Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := map[string]*reader{}
	stale = q.readers
	for _, one := range wanted {
		if r, ok := q.readers[one.Label()]; ok && r.reads(one) {
			kept[one.Label()] = r
			delete(stale, one.Label())
			continue
		}
		added = append(added, one)
	}
	q.readers = kept
	return stale, added
}

// Close stops reading, and waits until the messages in flight are acknowledged or abandoned.
func (q *Queues) Close(ctx context.Context) error {
	q.changing.Lock()
	defer q.changing.Unlock()
	q.closed = true
	return stop(ctx, q.readers)
}

func stop(ctx context.Context, readers map[string]*reader) (err error) {
	for _, r := range readers {
		r.stop()
	}
	for _, r := range readers {
		select {
		case <-r.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// statuses returns a snapshot. It doesn't wait for readers that are being stopped.
func (q *Queues) statuses() (all []Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.readers {
		all = append(all, r.status())
	}
	return all
}
