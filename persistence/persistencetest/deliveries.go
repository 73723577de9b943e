package persistencetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Destination inserts one with settings, and one subscription with the same ID.
func (d *Database) Destination(id int64, settings delivery.Destination) int64 {
	d.T.Helper()
	text, err := json.Marshal(settings)
	require.NoError(d.T, err)
	d.Exec(`INSERT INTO destinations (id, name, settings, version) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $1)`,
		id, fmt.Sprintf("d%d", id), text)
	d.Exec(`INSERT INTO subscriptions (id, name, destination_id, settings, active, version)
OVERRIDING SYSTEM VALUE VALUES ($1, $2, $1, '{}', true, $1)`, id, fmt.Sprintf("s%d", id))
	d.Exec(`INSERT INTO destination_states (destination_id) VALUES ($1)`, id)
	return id
}

// Queue inserts n deliveries to a destination, each of a processed event, and makes them due like the writer does.
func (d *Database) Queue(destination int64, n int) (ids []string) {
	d.T.Helper()
	for range n {
		ids = append(ids, uuid.Must(uuid.NewV7()).String())
	}
	d.Exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
       payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id)
SELECT id, 'acme', '', id::text, 'event', 'thing.changed', 'processed', 'processed', convert_to('{"id":1}', 'UTF8'), '{}',
       json_build_object('id', id, 'provider', 'acme', 'key', id::text), '', first.at, false, first.at, last.at, 'acme:' || id,
       'run', '', ''
  FROM unnest($1::uuid[]) AS id, now() AS first (at), now() AS last (at)`, ids)
	d.Exec(`INSERT INTO delivery_queue (event_id, subscription_id, destination_id) SELECT id, $2, $2 FROM unnest($1::uuid[]) AS id`,
		ids, destination)
	d.Outbox.MadeDue(destination)
	return ids
}

// Lease leases up to limit deliveries, and up to share of a destination.
func (d *Database) Lease(limit, share int) []delivery.Job {
	d.T.Helper()
	jobs, _, err := d.Outbox.Lease(d.T.Context(), delivery.LeaseRequest{Limit: limit, Room: UpTo(share)})
	require.NoError(d.T, err)
	return jobs
}

// UpTo allows n for each destination.
func UpTo(n int) func([]int64) []int {
	return func(ids []int64) []int { return slices.Repeat([]int{n}, len(ids)) }
}

// Settle records the outcomes of attempts.
func (d *Database) Settle(settled ...delivery.Outcome) []delivery.Transition {
	d.T.Helper()
	turns, err := d.Outbox.Settle(d.T.Context(), settled)
	require.NoError(d.T, err)
	return turns
}

// Became returns the outcome of an attempt.
func Became(j delivery.Job, kind delivery.Kind, code string) delivery.Outcome {
	return delivery.Outcome{
		Job: j, Result: delivery.Result{Kind: kind, Code: code, At: time.Now(), Took: 7 * time.Millisecond}, DueAt: time.Now(),
	}
}

// Each returns the same outcome for several attempts.
func Each(jobs []delivery.Job, kind delivery.Kind, code string) (settled []delivery.Outcome) {
	for _, j := range jobs {
		settled = append(settled, Became(j, kind, code))
	}
	return settled
}

// Passes simulates that time has passed for a destination, by moving the times in its row back.
func (d *Database) Passes(destination int64, span time.Duration) {
	d.T.Helper()
	d.Exec(`UPDATE destination_states SET next_at = next_at - $2::interval, open_until = open_until - $2::interval,
       closed_at = closed_at - $2::interval, tokens_at = tokens_at - $2::interval,
       resume_at = resume_at - $2::interval, probe_at = probe_at - $2::interval, low_at = low_at - $2::interval
 WHERE destination_id = $1`, destination, span)
	d.Exec(`UPDATE delivery_queue SET due_at = due_at - $2::interval WHERE destination_id = $1`, destination, span)
}

// Waiting returns how many deliveries of a destination are pending.
func (d *Database) Waiting(destination int64) int {
	return Value[int](d, `SELECT count(*) FROM delivery_queue WHERE destination_id = $1`, destination)
}

// Endpoint returns a destination of this name.
func Endpoint(name string) delivery.Destination {
	return delivery.Destination{Name: name, HTTP: &delivery.HTTP{URL: "https://" + name + ".example.com/hooks"}}
}

// Subscribe creates a subscription to a destination of the same name.
func (d *Database) Subscribe(name string, e delivery.Events) delivery.Subscription {
	d.T.Helper()
	_, err := d.Subscriptions.ApplyDestination(d.T.Context(), Endpoint(name), nil, Ada)
	require.NoError(d.T, err)
	return d.Apply(delivery.Subscription{Name: name, To: name, Events: e, Active: true})
}

// Apply creates or changes a subscription.
func (d *Database) Apply(s delivery.Subscription) delivery.Subscription {
	d.T.Helper()
	s, err := d.Subscriptions.ApplySubscription(d.T.Context(), s, Ada)
	require.NoError(d.T, err)
	return s
}

// BreakerOf returns the breaker of a destination's row.
func (d *Database) BreakerOf(destination int64) string {
	return Value[string](d, `SELECT breaker || ' ' || epoch FROM destination_states WHERE destination_id = $1`, destination)
}
