package persistence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/postgres"
	settings "holdfast/persistence/postgres/session"
)

// The frequent transactions send only few statements besides those that read and write, and a dispatcher without work sends next
// to nothing.
func TestStatementsOfATransaction(t *testing.T) {
	t.Parallel()
	count := &statementCount{}
	db := open(t, func(c *persistence.Config) { c.Tracer, c.PlansAtConnect = count, true })
	db.destination(1, delivery.Destination{})
	sent := func(f func()) int64 {
		before := count.n.Load()
		f()
		return count.n.Load() - before
	}
	lease := func() []delivery.Job { return db.lease(20, 20) }
	settle := func(jobs []delivery.Job) {
		_, err := db.Outbox.Settle(t.Context(), each(jobs, delivery.OK, "200"))
		require.NoError(t, err)
	}
	write := func() {
		r := receipt()
		_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(snapshot(r.ID, `{}`)), runOf(r))
		require.NoError(t, err)
	}
	write() // reads the subscriptions
	settle(lease())
	var jobs []delivery.Job
	require.EqualValues(t, 13, sent(write), "an event with a delivery")
	require.EqualValues(t, 10, sent(func() { jobs = lease() }), "a lease")
	require.EqualValues(t, 5, sent(func() { settle(jobs) }), "its outcome")
	db.Outbox.Signal()
	require.EqualValues(t, 5, sent(func() { require.Empty(t, lease()) }), "a lease without due deliveries")
	require.EqualValues(t, 1, sent(func() { require.Empty(t, lease()) }), "a dispatcher without work")
	require.EqualValues(t, 1, sent(func() { _, _ = db.Subscriptions.FinishRouting(t.Context()) }), "a look for fan-outs and filters")
	require.EqualValues(t, 1, sent(func() { _, _, _ = db.Inbox.BulkPositions(t.Context()) }), "a look at the bulk lane")

	db.another().queue(1, 1)
	require.Empty(t, lease(), "no process has made it due")
	db.exec(`UPDATE destination_states SET next_at = now()`)
	require.Len(t, lease(), 1, "another process has made it due")
}

// Settings of plans that are set at connect are in force, whatever the role or the database has; they are not sent again.
func TestPlansAtConnect(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer, c.PlansAtConnect = seen, true })
	for name := range turnedPlans {
		turn(t, db.url, name, turnedPlans[name], true)
	}
	db.useAll()
	for _, s := range seen.sent {
		require.NotContains(t, s.sql, "plan_cache_mode")
	}
	conn, err := db.Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, s := range settings.Plans {
		var is string
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_setting($1)`, s.Name).Scan(&is))
		require.Equal(t, s.Value, is, s.Name)
		require.Contains(t, postgres.SettingsOfPlans, "set_config('"+s.Name+"', '"+s.Value+"', true)")
	}
	require.Equal(t, len(settings.Plans), strings.Count(postgres.SettingsOfPlans, "set_config("))
}

var turnedPlans = map[string]string{
	"jit": "on", "plan_cache_mode": "force_custom_plan", "enable_seqscan": "on", "enable_hashjoin": "on", "enable_mergejoin": "on",
}
