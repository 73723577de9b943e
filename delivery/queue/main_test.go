package queue_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/queue"
	"holdfast/delivery/webhook"
	"holdfast/event"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func newSender(t *testing.T, options webhook.SenderOptions) *queue.Sender {
	t.Helper()
	if options.AllowedNetworks == nil {
		options.AllowedNetworks = loopback
	}
	s := queue.NewSender(webhook.NewNetwork(options))
	t.Cleanup(s.Close)
	return s
}

// order returns an event and its delivery.
func order(number int) (delivery.Job, delivery.Message) {
	m := delivery.Message{
		Receipt: event.Receipt{
			ID: uuid.NewString(), Provider: "events", Source: "shop", Headers: map[string]string{"content-type": "application/json"},
			ReceivedAt: time.Now(),
		},
		Type: "order.paid", OccurredAt: time.Now().Add(-time.Hour), Body: fmt.Appendf(nil, `{"number":%d}`, number),
	}
	return delivery.Job{Key: delivery.Key{EventID: m.Receipt.ID, SubscriptionID: 1}, HasOwnID: true}, m
}

func send(t *testing.T, s *queue.Sender, to delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	t.Helper()
	return sendWithin(t.Context(), s, to, j, m, 5*time.Second)
}

func sendWithin(
	ctx context.Context, s *queue.Sender, to delivery.Target, j delivery.Job, m delivery.Message, limit time.Duration,
) delivery.Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.Send(ctx, to, j, m)
}

// check is Sender.Check with a bound.
func check(t *testing.T, s *queue.Sender, to delivery.Target) []delivery.Finding {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return s.Check(ctx, to)
}

// within fails the test if a call doesn't return: some clients and servers wait for an answer without a timeout.
func within(t *testing.T, limit time.Duration, what string, call func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		require.NoError(t, err, what)
	case <-time.After(limit):
		require.Fail(t, what+" takes longer than "+limit.String())
	}
}

// crashLimit bounds deliverThroughCrashes: a broker may not come back, or never confirm anything again.
const crashLimit = 4 * time.Minute

// deliverThroughCrashes sends as a dispatcher does, again until success, and calls crash when a third has been sent. It returns the
// IDs of all deliveries.
func deliverThroughCrashes(t *testing.T, s *queue.Sender, to delivery.Target, total int, crash func()) (ids map[string]bool) {
	t.Helper()
	bounded, cancel := context.WithTimeout(t.Context(), crashLimit)
	defer cancel()
	ids = map[string]bool{}
	jobs := make(chan func(), total)
	var sent sync.WaitGroup
	var once sync.Once
	var delivered, failures int
	var failure delivery.Result // the last one
	var mu sync.Mutex
	for i := range total {
		j, m := order(i)
		ids[j.ID()] = true
		jobs <- func() {
			for {
				result := sendWithin(bounded, s, to, j, m, 2*time.Second)
				if result.Kind == delivery.OK {
					break
				}
				if bounded.Err() != nil {
					return
				}
				assert.Contains(t, []delivery.Kind{delivery.Bad, delivery.Busy, delivery.Missing, delivery.Ours}, result.Kind, result)
				mu.Lock()
				failures++
				failure = result
				mu.Unlock()
				<-time.After(50 * time.Millisecond) // a retry's pause
			}
			mu.Lock()
			defer mu.Unlock()
			if delivered++; delivered == total/3 {
				once.Do(func() { sent.Go(crash) })
			}
		}
	}
	close(jobs)
	for range 16 {
		sent.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	sent.Wait()
	require.Equal(t, total, delivered, "not everything is delivered within %s; the last failure: %+v", crashLimit, failure)
	require.Positive(t, failures, "the broker died while it was used")
	t.Logf("%d deliveries, %d failed attempts", total, failures)
	return ids
}
