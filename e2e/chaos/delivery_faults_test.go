package chaos

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Every other scenario delivers, too. Here the endpoint fails, or something between an attempt and its outcome.
var deliveryFaults = []scenario{
	{id: "D01", name: "destination_down", short: true, fault: func(w *world) {
		w.receiver.shut()
		w.awaitBreaker(time.Minute, "everything", delivery.BreakerOpen)
		w.sleep(outage)
		w.receiver.reopen()
	}},
	{id: "D02", name: "destination_slow_by_14_seconds", fault: func(w *world) {
		w.receiver.behaves(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(14 * time.Second):
				w.receiver.confirm(r.Header.Get("holdfast-event-id"), r.Header.Get("webhook-id"))
			case <-r.Context().Done():
			}
		})
		w.sleep(2 * outage)
		w.receiver.behaves(nil)
	}},
	{id: "D03", name: "destination_hostile", fault: func(w *world) {
		w.receiver.behaves(w.receiver.hostile())
		w.sleep(2 * outage)
		w.receiver.behaves(nil)
	}},
	{id: "D04", name: "worker_dies_between_post_and_outcome", fault: workerDiesAfterPost},
	{id: "D05", name: "paused_and_drained", twice: true, fault: func(w *world) {
		w.setDestination("everything", delivery.DestinationPaused)
		w.awaitWaiting(time.Minute, 200)
		for _, n := range w.workers {
			n.crash()
		}
		w.sleep(outage)
		w.awaitWaiting(time.Minute, 200)
		w.setDestination("everything", delivery.DestinationReady)
	}},
	{id: "D06", name: "subscriptions_changed_under_load", fault: subscriptionsChange},
	{id: "D07", name: "destination_down_and_workers_killed_again_and_again", fault: func(w *world) {
		w.receiver.shut()
		for i := range 10 {
			w.workers[i%2].crash()
			w.sleep(w.some(300*time.Millisecond, 1500*time.Millisecond))
		}
		w.receiver.reopen()
	}},
	{id: "D08", name: "delivered_while_temporal_is_away", fault: func(w *world) {
		w.setDestination("everything", delivery.DestinationPaused)
		w.awaitWaiting(time.Minute, 100)
		w.workerTemporal.cut()
		w.ingressTemporal.cut()
		w.setDestination("everything", delivery.DestinationReady)
		eventually(w.t, time.Minute, "what waited is delivered", func() error {
			return w.noneWaits()
		})
	}},
	{id: "D09", name: "one_sick_endpoint_delays_no_healthy_one", fault: sickDestinationsDelayNoHealthyOnes,
		environ: []string{isolationPool}},
	{id: "D10", name: "ordered_key_fails_and_workers_are_killed", fault: orderedKeyFails, after: checkOrder, buries: true},
}

// workerDiesAfterPost kills the worker whose request has arrived, before it has its answer.
func workerDiesAfterPost(w *world) {
	came, release := make(chan struct{}, 1), make(chan struct{})
	w.receiver.behaves(func(_ http.ResponseWriter, r *http.Request) {
		w.receiver.confirm(r.Header.Get("holdfast-event-id"), r.Header.Get("webhook-id"))
		select {
		case came <- struct{}{}:
		default:
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	for range 4 {
		select {
		case <-came:
		case <-time.After(time.Minute):
			require.Fail(w.t, "no delivery has come")
		}
		for _, n := range w.workers {
			n.crash()
		}
		w.sleep(w.some(500*time.Millisecond, 2*time.Second))
	}
	close(release)
	w.receiver.behaves(nil)
}

// subscriptionsChange creates, changes and removes subscriptions, while another one must get everything. A new one gets the
// events received after its creation is confirmed.
func subscriptionsChange(w *world) {
	other := newReceiver(w.t)
	for range 5 {
		w.subscribe("other", other, delivery.Events{Types: []string{"customer.*"}})
		w.sleep(time.Second)
		w.subscribe("other", other, delivery.Events{Filter: `.body.data.object.id == "nobody"`})
		w.sleep(time.Second)
	}
	w.subscribe("other", other, delivery.Events{})
	before, err := w.count("SELECT count(*) FROM deliveries")
	require.NoError(w.t, err)
	w.load.awaitAccepted(time.Minute, 2*warmUp)
	w.awaitCount(time.Minute, before+2*warmUp, "SELECT count(*) FROM deliveries")
	other.requireNoForgery()
}

// hostile misbehaves in a different way for each request.
func (r *receiver) hostile() http.HandlerFunc {
	var mu sync.Mutex
	n := rand.IntN(7)
	return func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		n++
		way := n % 7
		mu.Unlock()
		switch way {
		case 0: // an answer without end
			w.WriteHeader(http.StatusInternalServerError)
			piece := make([]byte, 64<<10)
			for range 1 << 12 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		case 1: // a byte at a time
			w.WriteHeader(http.StatusServiceUnavailable)
			for range 30 {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Second):
				case <-request.Context().Done():
					return
				}
			}
		case 2: // truncated
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		case 3: // not HTTP
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(connection, "\x00\xff nonsense\r\n\r\n")
				_ = connection.Close()
			}
		case 4: // a redirect
			w.Header().Set("Location", "http://169.254.169.254/latest/meta-data/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case 5: // slow
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default: // NUL in an error
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "no\x00\xff\xfe")
		}
	}
}
