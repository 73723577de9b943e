package intake

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/event"
	"holdfast/workflows/runs"
)

const (
	// commitAge is how long a commit shows that its store can commit.
	commitAge = 10 * time.Second
	// tryPause is the min time between two tries, and tryTimeout bounds one.
	tryPause   = 5 * time.Second
	tryTimeout = 2 * time.Second
)

// CommitProbe reports whether a store can commit an event: by the last event that it has committed or, if that was long ago, by a
// small commit of its own. A store that answers questions may still commit nothing, such as a database that is read-only. However
// often it is asked, it tries once at a time, and rarely.
type CommitProbe struct {
	try       func(context.Context) error
	committed atomic.Int64 // Unix time in nanoseconds

	mu      sync.Mutex
	running chan struct{} // closed at the end of the try; nil if there is none
	triedAt time.Time
	err     error
}

// NewCommitProbe makes a probe of a store; try commits something to it.
func NewCommitProbe(try func(context.Context) error) *CommitProbe { return &CommitProbe{try: try} }

// Committed reports a commit of an event.
func (p *CommitProbe) Committed() { p.committed.Store(time.Now().UnixNano()) }

// Probe returns nil if the store can commit.
func (p *CommitProbe) Probe(ctx context.Context) error {
	if time.Since(time.Unix(0, p.committed.Load())) < commitAge {
		return nil
	}
	p.mu.Lock()
	if p.running == nil && time.Since(p.triedAt) < tryPause {
		defer p.mu.Unlock()
		return p.err
	}
	if p.running == nil {
		p.running = make(chan struct{})
		go p.run(p.running)
	}
	running := p.running
	p.mu.Unlock()
	select {
	case <-running:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("try to commit: %w", ctx.Err())
	}
}

func (p *CommitProbe) run(ended chan<- struct{}) {
	err := p.tryNow()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.triedAt, p.running = err, time.Now(), nil
	close(ended)
}

func (p *CommitProbe) tryNow() (err error) {
	defer guard("try to commit", &err)
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	return p.try(ctx)
}

// Starting returns a starter that reports its commits.
func (p *CommitProbe) Starting(with EventStarter) EventStarter { return probedStarter{with, p} }

type probedStarter struct {
	EventStarter

	probe *CommitProbe
}

func (s probedStarter) Start(ctx context.Context, r event.Receipt, body []byte, reject bool) (runs.Started, error) {
	started, err := s.EventStarter.Start(ctx, r, body, reject)
	if err == nil && started.State == runs.StateAccepted {
		s.probe.Committed()
	}
	return started, err
}

// Spooling returns an inbox that reports its commits.
func (p *CommitProbe) Spooling(with Spooler) Spooler { return probedSpooler{with, p} }

type probedSpooler struct {
	Spooler

	probe *CommitProbe
}

func (s probedSpooler) Spool(
	ctx context.Context, lane event.Lane, r event.Receipt, body []byte, reject bool,
) (stored bool, err error) {
	stored, err = s.Spooler.Spool(ctx, lane, r, body, reject)
	if stored && err == nil {
		s.probe.Committed()
	}
	return stored, err
}

func (s probedSpooler) Copy(ctx context.Context, r event.Receipt, body []byte, delay time.Duration) error {
	err := s.Spooler.Copy(ctx, r, body, delay)
	if err == nil {
		s.probe.Committed()
	}
	return err
}
