package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// redriven is how many dead letters are replayed. They are those of deliveries, so that the test takes seconds: each replay is a
// request to the endpoint. A dead letter of an event is a run in Temporal, of which the dev server has about 40 a second on two
// cores, so that 10,000 would take four minutes; replay_test.go has some of these.
const redriven = 10_000

// failDeliveries inserts events of type $2 that were processed, whose deliveries to subscription $1 failed after all attempts, and
// the dead letters of these.
const failDeliveries = `
WITH new AS (
    SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7000' || '8d1e' || lpad(to_hex(i), 12, '0'))::uuid
           AS id, $2::text AS type, $2::text || '_' || i AS key, json_build_object('type', $2::text, 'id', $2::text || i)::text AS body,
           now() AS at
      FROM generate_series(1, $3::int) AS i
), of AS (
    SELECT id, destination_id FROM subscriptions WHERE name = $1 AND deleted_at IS NULL
), stored AS (
    INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
           occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id, correlation_id)
    SELECT id, 'homemade', '', key, 'event', type, 'processed', 'processed', convert_to(body, 'UTF8'), '{}',
           json_build_object('id', id, 'provider', 'homemade', 'key', key, 'type', type, 'received_at', at), body::jsonb, '', at, false,
           at, at, 'homemade:' || key, gen_random_uuid()::text, '', ''
      FROM new
), ended AS (
    INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
    SELECT new.id, of.id, of.destination_id, 'failed', '503', 12, 0, 3, at FROM new, of
)
INSERT INTO dead_letters (event_id, subscription_id, provider, key, type, receipt, raw_body, step, error_class, error_code,
       error_message, attempts, first_failed_at, last_failed_at, workflow_id, run_id)
SELECT new.id, of.id, 'homemade', key, type, json_build_object('id', new.id, 'provider', 'homemade', 'key', key, 'type', type,
       'received_at', at), convert_to(body, 'UTF8'), 'deliver', 'rejected', '503', 'the endpoint answered 503 Service Unavailable', 12,
       at, at, 'homemade:' || key, ''
  FROM new, of`

// An endpoint was down until the retries of 10,000 deliveries were exhausted. It works again, and an operator replays all of their
// dead letters from their cause: plan, start, pause in the middle, resume, end.
//   - while the replay is paused, what isn't started stays open
//   - each event arrives once, and no dead letter is left
func TestTenThousandDeadLettersAreReplayedWithAPause(t *testing.T) {
	t.Parallel()
	kind, name := uniqueID("order"), strings.ReplaceAll(uniqueID("shop"), "_", "-")
	got := &arrivals{times: map[string]int{}}
	endpoint := httptest.NewServer(got)
	t.Cleanup(endpoint.Close)
	holdfast.run(t, "subscription", "create", name, "--url", endpoint.URL+"/hooks", "--types", kind)
	execOn(t, holdfast.configured(t)["DATABASE_URL"], failDeliveries, name, kind, redriven)

	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/dead-letters?provider=homemade")
	b.submit("tr:has(a[aria-label=\"10\u202f000 open of homemade 503 " + name + "\"]) a.button")
	require.Contains(t, b.page(), "10\u202f000 dead letters match")
	b.fill("#rate", "1000")
	b.fill("#reason", "the endpoint is repaired")
	b.submit("form.confirm button")
	require.Contains(t, b.page(), "Replaying 10\u202f000 dead letters.")
	at := b.path()
	eventually(t, "a tenth has arrived", func() error { return got.atLeast(redriven / 10) })

	b.submit(`form[action$="/pause"] button`)
	require.Equal(t, "paused", b.text("#state"))
	b.await("#counts + dl", "In flight\n0")
	arrived := got.events()
	require.Less(t, arrived, redriven, "the pause came too late to show anything")
	b.open("/console/dead-letters/list?state=open&type=" + kind)
	require.Equal(t, fmt.Sprintf("Replay all %s that match", thousands(redriven-arrived)), b.text("#all"))
	b.open(at)
	require.Equal(t, arrived, got.events(), "nothing is sent meanwhile")
	b.requireAccessible()

	b.submit(`form[action$="/resume"] button`)
	for i := 0; i < 4 && got.atLeast(redriven) != nil; i++ { // other tests use the same processes: it may take minutes
		eventually(t, "the next quarter has arrived", func() error { return got.atLeast(min(redriven, arrived+(i+1)*(redriven-arrived)/4)) })
	}
	eventually(t, "all have arrived", func() error { return got.atLeast(redriven) })
	b.await("#progress", "completed")
	require.Contains(t, b.text("#progress"), "100 %")
	require.Contains(t, b.text("#counts + dl"), "Processed\n10\u202f000")
	require.Contains(t, b.text("#counts + dl"), "Failed again\n0")
	require.Equal(t, redriven, got.events())
	require.Equal(t, 1, got.most(), "each arrives once")
	b.open("/console/dead-letters/list?state=open&type=" + kind)
	require.Contains(t, b.page(), "No dead letters match")
	b.open("/console/audit?action=replay.start")
	require.Contains(t, b.page(), "the endpoint is repaired")
}

// thousands formats a number from 1,000 to 999,999 as pages do.
func thousands(n int) string { return fmt.Sprintf("%d\u202f%03d", n/1000, n%1000) }

// arrivals is an endpoint that counts the requests of each event.
type arrivals struct {
	mu    sync.Mutex
	times map[string]int
}

func (a *arrivals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[r.Header.Get("Webhook-Id")]++
}

func (a *arrivals) events() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.times)
}

func (a *arrivals) most() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, times := range a.times {
		n = max(n, times)
	}
	return n
}

func (a *arrivals) atLeast(n int) error {
	if events := a.events(); events < n {
		return fmt.Errorf("%d have arrived", events)
	}
	return nil
}
