package read_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

// A report counts a week and the week before, each row in its own range:
//   - older rows, and rows after the end, don't count
//   - events that could not be parsed count, although they have no row
//   - a dead letter that has failed again counts when it failed first, whatever its state
func TestAReportCountsTwoTimes(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	until := time.Date(2026, 1, 5, 7, 0, 0, 0, time.UTC)
	since := until.AddDate(0, 0, -7)
	insert := func(provider string, at time.Time) (id string) {
		id = event.FirstIDAt(at)
		db.Exec(`
INSERT INTO events (id, provider, source, key, key_from, type, status, raw_body, headers, receipt, payload_note, occurred_at,
       occurred_at_missing, received_at, workflow_id, run_id, request_id, correlation_id)
VALUES ($1, $2, '', 'k', 'event', 't', 'dead', '', '{}', '{}', '', $3, false, $3, 'w', '', '', '')`, id, provider, at)
		return id
	}
	for _, at := range []time.Time{until, since.AddDate(0, 0, -7).Add(-time.Second)} {
		insert("outside", at)
	}
	insert("stripe", since)
	insert("stripe", until.Add(-time.Second))
	insert("acme", until.Add(-100*time.Hour))
	known := insert("stripe", since.Add(-time.Second))
	insert("gone", since.AddDate(0, 0, -7))
	db.Exec(`INSERT INTO event_duplicates VALUES ($1, 4, now(), now())`, known)
	for _, failed := range []struct{ first, last time.Time }{
		{since.Add(time.Hour), until.Add(time.Hour)}, {since.Add(-time.Hour), until}, {since.AddDate(0, 0, -8), until},
	} {
		db.Exec(`
INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, step, error_class, error_code, error_message, attempts,
       first_failed_at, last_failed_at, workflow_id, run_id, state, resolved_at, resolved_run_id)
VALUES ($3, 'acme', 'k', 't', '{}', '', 'parse', 'rejected', 'jq_failed', '', 1, $1, $2, 'w', 'r', 'resolved', now(), 'r')`,
			failed.first, failed.last, event.FirstIDAt(failed.first))
	}
	db.Exec(`
INSERT INTO error_log (at, phase, provider, error_class, error_code, error_message, count)
VALUES ($1, 'parse', 'acme', 'failed', 'x', '', 5), ($2, 'parse', 'acme', 'failed', 'x', '', 2)`, since, since.Add(-time.Second))
	db.Exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
VALUES ($1, 1, 1, 'delivered', '', 1, 0, 1, now()), ($2, 1, 1, 'failed', '', 1, 0, 1, now()), ($3, 2, 1, 'canceled', '', 1, 0, 1, now())`,
		event.FirstIDAt(since), event.FirstIDAt(since.Add(-time.Second)), event.FirstIDAt(since))

	got, err := db.Read.Report(t.Context(), since, until)
	require.NoError(t, err)
	require.Equal(t, oversight.Report{
		Since: since, Until: until,
		Received:  []oversight.Trend{{Name: "acme", Count: 2, Before: 1}, {Name: "stripe", Count: 2, Before: 1}, {Name: "gone", Before: 1}},
		Repeated:  oversight.Trend{Before: 4},
		Failed:    []oversight.Trend{{Name: "acme rejected jq_failed", Count: 1, Before: 1}},
		Errors:    oversight.Trend{Count: 5, Before: 2},
		Delivered: oversight.Trend{Count: 1}, GivenUp: oversight.Trend{Before: 1},
		Waiting: []oversight.Backlog{},
	}, got)
}
