package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

var eventFaults = []scenario{
	{id: "F37", name: "one_event_a_thousand_times", fault: identicalRequests},
	{id: "F38", name: "redelivered_in_every_state", fault: redeliverInEveryState},
	{id: "F40", name: "out_of_order", fault: outOfOrder},
	{id: "F41", name: "poison_flood", fault: func(w *world) {
		for i := range 200 {
			kind := poison
			if i%2 == 0 {
				kind = badEntity
			}
			w.load.send(kind(fmt.Sprintf("evt_%s_flood_%d", w.load.maker.run, i)), ledger.KindEvent, w.load.doors[i%2])
			w.sleep(20 * time.Millisecond)
		}
		w.sleep(2 * time.Second)
	}},
	{id: "F42", name: "dead_letters_cannot_be_written", fault: func(w *world) {
		w.sql.exec(w.t, w.name, "REVOKE INSERT ON dead_letters FROM "+roleName)
		for i := range 30 {
			w.load.send(poison(fmt.Sprintf("evt_%s_buried_%d", w.load.maker.run, i)), ledger.KindEvent, w.load.doors[i%2])
		}
		w.sleep(outage)
		n, err := w.count("SELECT count(*) FROM dead_letters WHERE key LIKE '%buried%'")
		require.NoError(w.t, err)
		require.Zero(w.t, n)
		w.sql.exec(w.t, w.name, "GRANT INSERT ON dead_letters TO "+roleName)
	}},
}

// identicalRequests sends one event a thousand times at once, to both ingresses. With Temporal, one answer reports the first
// delivery; if Temporal is too slow, each group committed to the inbox has a first one. Either way there is one event.
func identicalRequests(w *world) {
	m := w.load.maker.snapshot(fmt.Sprintf("evt_%s_identical", w.load.maker.run), 0, time.Now())
	var sending sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for i := range 1000 {
		seq := w.load.note(m, ledger.KindDuplicate)
		sending.Go(func() {
			status := w.load.deliver(seq, m, ledger.KindDuplicate, w.load.doors[i%2])
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
		})
	}
	sending.Wait()
	w.t.Logf("answers to the identical requests: %v", answers)
	require.Positive(w.t, answers[http.StatusAccepted], "%v", answers)
	require.Positive(w.t, answers[http.StatusOK], "%v", answers)
}

// redeliverInEveryState redelivers an event while it is in progress, when it is processed, and when it is dead.
func redeliverInEveryState(w *world) {
	release := w.lock("entities", "EXCLUSIVE")
	var again []message
	for i := range 20 {
		again = append(again, w.load.maker.snapshot(fmt.Sprintf("evt_%s_again_%d", w.load.maker.run, i), i, time.Now()),
			poison(fmt.Sprintf("evt_%s_dead_%d", w.load.maker.run, i)))
	}
	for round := range 4 {
		for i, m := range again {
			kind := ledger.KindDuplicate
			if round == 0 {
				kind = ledger.KindEvent
			}
			w.load.send(m, kind, w.load.doors[i%2])
			w.sleep(10 * time.Millisecond)
		}
		w.sleep(2 * time.Second)
		if round == 1 {
			release()
		}
	}
}

// outOfOrder sends the events of each of 40 orders out of order, including deletions.
func outOfOrder(w *world) {
	start := time.Now().Add(-time.Hour).UTC()
	for order := range 40 {
		for _, version := range w.rng.Perm(5) {
			kind := "order.updated"
			if version == w.rng.IntN(5) {
				kind = "order.deleted"
			}
			id := fmt.Sprintf("evt_%s_order_%d_%d", w.load.maker.run, order, version)
			body, err := json.Marshal(map[string]any{
				"id": id, "type": kind, "timestamp": start.Add(time.Duration(version) * time.Second).Format(time.RFC3339),
				"data": map[string]any{"id": fmt.Sprintf("permuted_%d", order), fmt.Sprint("field_", version%2): id},
			})
			require.NoError(w.t, err)
			w.load.send(message{provider: "hmac", key: id, body: body}, ledger.KindEvent, w.load.doors[version%2])
			w.sleep(15 * time.Millisecond)
		}
	}
	w.sleep(2 * time.Second)
}
