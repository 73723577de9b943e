package queues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/ingress/queues"
	"holdfast/internal/proxy"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
)

const patience = 90 * time.Second

// commits stands in for the ingress, since a test must say when a commit succeeds.
type commits struct {
	mu       sync.Mutex
	failing  error
	poison   string // the body that panics until it is passed on unsplit
	refused  string // the body that isn't committed
	attempts int
	bodies   []string
	messages []queues.Message
	errors   []oversight.ErrorEntry
	secrets  map[string]string
	proxies  proxy.List
}

func (c *commits) accept(_ context.Context, m queues.Message) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	if c.poison != "" && string(m.Body) == c.poison && !m.Unsplit {
		panic("can't be split")
	}
	if c.failing != nil {
		return "", c.failing
	}
	if c.refused != "" && string(m.Body) == c.refused {
		return "", errors.New("refused")
	}
	c.bodies, c.messages = append(c.bodies, string(m.Body)), append(c.messages, m)
	return "accepted", nil
}

func (c *commits) Record(e oversight.ErrorEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, e)
}

func (c *commits) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = err
}

func (c *commits) refuse(body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = body
}

// distinct returns the committed bodies, each once, sorted.
func (c *commits) distinct() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(c.bodies)))
}

func (c *commits) count() (attempts, committed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts, len(c.bodies)
}

func (c *commits) codes() (codes []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.errors {
		codes = append(codes, e.Code)
	}
	return codes
}

func (c *commits) lastError() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errors[len(c.errors)-1].Message
}

func (c *commits) last() queues.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[len(c.messages)-1]
}

var errDown = errors.New("both stores are down")

func (c *commits) Whole(name string) (string, error) { return c.secrets[name], nil }

func (c *commits) Proxies() (proxy.List, *proxy.Proxy) { return c.proxies, nil }

// read reads a queue until the test ends, or stop is called.
func (c *commits) read(t *testing.T, q receiving.Queue) (stop func()) {
	t.Helper()
	all := queues.New(queues.Options{Accept: c.accept, Environment: c, Errors: c})
	require.NoError(t, all.Read([]receiving.Queue{q}))
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, all.Close(ctx))
	})
	t.Cleanup(stop)
	return stop
}

// problem returns the code of what keeps a queue from being read, "" if it can be read.
func (c *commits) problem(t *testing.T, q receiving.Queue) string {
	t.Helper()
	p := queues.Check(t.Context(), q, c).Problem
	if p == nil {
		return ""
	}
	return p.Code
}

func queueOf(broker, url, name string) receiving.Queue {
	return receiving.Queue{Provider: "orders", Queue: definition.Queue{
		Broker: broker, URL: url, Name: name, Group: "holdfast-orders", Prefetch: 8,
	}}
}

func numbered(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprintf(`{"id":"%05d"}`, n))
	}
	return all
}

func awaitAll(t *testing.T, c *commits, want []string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(c.distinct()) >= len(want) }, patience, 20*time.Millisecond)
	require.Equal(t, want, c.distinct())
}

func awaitWaiting(t *testing.T, q receiving.Queue, c *commits, want int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return queues.Check(t.Context(), q, c).Waiting == want
	}, patience, 50*time.Millisecond)
}

// await returns what a channel gets, within patience.
func await[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatal("nothing comes")
	}
	return got
}
