package chaos

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

// load sends events at a steady rate, whatever happens to them, and writes the ledger.
type load struct {
	t      testing.TB
	rng    *rand.Rand
	maker  *maker
	doors  []string
	ledger *ledger.Writer
	path   string
	client *http.Client

	requests sync.WaitGroup
	stopped  chan struct{}
	looped   chan struct{}

	mu     sync.Mutex
	seq    int64
	sent   []message // without forgeries, in order
	poison map[string]bool
	acked  map[string]bool
	tries  []try
}

// try is one request with its answer.
type try struct {
	door   string
	at     time.Time
	took   time.Duration
	status int
	kind   ledger.Kind
	// refused means that the connection was refused.
	refused bool
}

// rate is the number of requests per second.
const rate = 25

// patience is a sender's timeout. Holdfast answers within 3 s if it can.
const patience = 8 * time.Second

// kindPoison is an authentic event that can't be processed.
const kindPoison ledger.Kind = "poison"

func newLoad(t testing.TB, dir string, rng *rand.Rand, doors []string) *load {
	t.Helper()
	run := fmt.Sprintf("%08x", rng.Uint32())
	l := &load{
		t: t, rng: rng, maker: &maker{rng: rng, run: run}, doors: doors, path: filepath.Join(dir, "ledger.jsonl"),
		client: &http.Client{Timeout: patience, Transport: &http.Transport{
			MaxIdleConnsPerHost: 512, IdleConnTimeout: 5 * time.Second, DisableCompression: true,
		}},
		stopped: make(chan struct{}), looped: make(chan struct{}), poison: map[string]bool{}, acked: map[string]bool{},
	}
	var err error
	l.ledger, err = ledger.Open(l.path, ledger.Run{ID: run, Started: time.Now(), Seed: *seed})
	require.NoError(t, err)
	return l
}

// run sends until stop is called.
func (l *load) run() {
	defer close(l.looped)
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for {
		select {
		case <-l.stopped:
			return
		case <-tick.C:
			l.one()
		}
	}
}

// one sends a new event, a previous one, or a forgery.
func (l *load) one() {
	door := l.doors[l.rng.IntN(len(l.doors))]
	switch dice := l.rng.IntN(100); {
	case dice < 5 && len(l.sent) > 0:
		recent := l.sent[max(0, len(l.sent)-4*rate):]
		l.send(recent[l.rng.IntN(len(recent))], ledger.KindDuplicate, door)
	case dice < 7:
		l.send(l.maker.next(), ledger.KindBadSignature, door)
	default:
		l.send(l.maker.next(), ledger.KindEvent, door)
	}
}

// send sends in the background.
func (l *load) send(m message, kind ledger.Kind, door string) {
	if kind == ledger.KindEvent && m.poison {
		kind = kindPoison
	}
	seq := l.note(m, kind)
	l.requests.Go(func() { l.deliver(seq, m, kind, door) })
}

// note records what is about to be sent.
func (l *load) note(m message, kind ledger.Kind) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	if kind != ledger.KindBadSignature && kind != ledger.KindDuplicate {
		l.sent = append(l.sent, m)
		if m.poison {
			l.poison[m.workflowID()] = true
		}
	}
	err := l.ledger.Sending(l.seq, time.Now(), kind,
		[]ledger.Event{{Provider: m.provider, Key: m.key, SHA256: sha256.Sum256(m.body)}})
	if err != nil {
		l.t.Error(err)
	}
	return l.seq
}

func (l *load) deliver(seq int64, m message, kind ledger.Kind, door string) int {
	at := time.Now()
	status, _, err := m.post(context.Background(), l.client, door, kind == ledger.KindBadSignature)
	took := time.Since(at)
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := errors.Is(err, syscall.ECONNREFUSED)
	if err := l.ledger.Answered(seq, status, took); err != nil {
		l.t.Error(err)
	}
	l.tries = append(l.tries, try{door: door, at: at, took: took, status: status, kind: kind, refused: refused})
	if ledger.OutcomeOf(status) == ledger.OutcomeOK {
		l.acked[m.workflowID()] = true
	}
	return status
}

// stop ends the load and waits for the last answers.
func (l *load) stop() {
	close(l.stopped)
	<-l.looped
	l.requests.Wait()
}

// redeliver resends half of the unacknowledged events, as a provider would. The other half shows which ones were accepted
// without an answer.
func (l *load) redeliver() {
	for i, m := range l.unacknowledged() {
		if i%2 == 0 {
			l.send(m, ledger.KindDuplicate, l.doors[i/2%len(l.doors)])
			time.Sleep(time.Second / rate / 2)
		}
	}
	l.requests.Wait()
}

func (l *load) unacknowledged() (left []message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.sent {
		if !l.acked[m.workflowID()] {
			left = append(left, m)
		}
	}
	return left
}

// close ends the ledger.
func (l *load) close() {
	require.NoError(l.t, l.ledger.Close())
	l.client.CloseIdleConnections()
}

// accepted counts the requests answered with a 2xx so far.
func (l *load) accepted() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tries {
		if ledger.OutcomeOf(t.status) == ledger.OutcomeOK {
			n++
		}
	}
	return n
}

// awaitAccepted waits for this many more.
func (l *load) awaitAccepted(limit time.Duration, more int) {
	l.t.Helper()
	want := l.accepted() + more
	eventually(l.t, limit, "events are accepted", func() error {
		if n := l.accepted(); n < want {
			return fmt.Errorf("%d of %d", n, want)
		}
		return nil
	})
}

// between counts the requests that began in a period: those acknowledged, answered with 5xx, and not answered.
func (l *load) between(from, to time.Time) (ok, unavailable, silent int, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tries {
		if t.at.Before(from) || t.at.After(to) || t.kind == ledger.KindBadSignature {
			continue
		}
		switch {
		case t.status == 0:
			silent++
		case t.status >= 500:
			unavailable++
		case ledger.OutcomeOf(t.status) == ledger.OutcomeOK:
			ok++
		}
		slowest = max(slowest, t.took)
	}
	return ok, unavailable, silent, slowest
}

// acknowledgedBy counts the requests to a door since a moment that were answered with 2xx.
func (l *load) acknowledgedBy(door string, since time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tries {
		if t.door == door && t.at.After(since) && ledger.OutcomeOf(t.status) == ledger.OutcomeOK {
			n++
		}
	}
	return n
}

// cut counts the requests since a moment that connected but got no answer.
func (l *load) cut(since time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tries {
		if t.status == 0 && !t.refused && t.at.After(since) {
			n++
		}
	}
	return n
}
