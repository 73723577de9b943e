package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
)

// A storm is reported once, with its count; later and concurrent failures are reported again; resolved ones are not.
func TestEachFailureIsReportedOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	var receipts []event.Receipt
	for range 30 {
		r := receipt()
		receipts = append(receipts, r)
		require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetterOf(r)))
	}
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		{At: noon, Phase: event.PhaseDeadLetter, Class: event.ClassFailed, Code: "insufficient_privilege", Count: 7, Alert: true},
		{At: noon, Phase: event.PhaseParse, Class: event.ClassFailed, Code: "not an alert"},
	}))
	claim, pending, err := db.Errors.ClaimAlerts(t.Context())
	require.NoError(t, err)
	groups := oversight.GroupAlerts(pending)
	require.Len(t, groups, 2)
	require.EqualValues(t, 30, groups[0].Count)
	require.Equal(t, "acme", groups[0].Provider)
	require.EqualValues(t, 7, groups[1].Count)

	again := deadLetterOf(receipts[0]) // it fails again while the message is being sent
	again.Run = anotherRun(receipts[0])
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), again))
	require.NoError(t, db.Errors.SettleAlerts(t.Context(), claim, pending, true))
	require.NoError(t, db.Errors.SettleAlerts(t.Context(), claim, pending, true), "twice is as good as once")
	claim, pending, err = db.Errors.ClaimAlerts(t.Context())
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.EqualValues(t, 1, pending[0].Count)
	require.NoError(t, db.Errors.SettleAlerts(t.Context(), claim, pending, false))

	id := pending[0].DeadLetter
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	_, pending, err = db.Errors.ClaimAlerts(t.Context())
	require.NoError(t, err)
	require.Empty(t, pending)
}

// A claim is exclusive, until it is given back or abandoned; then all of it is pending again.
func TestAClaimOfAlertsIsGivenBack(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`
INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, step, error_class, error_code, error_message,
       attempts, first_failed_at, last_failed_at, workflow_id, run_id)
SELECT gen_random_uuid(), 'acme', i, 't', '{}', '', 'upsert', 'rejected', 'bad', '', 1, now(), now(), 'acme:' || i, ''
  FROM generate_series(1, 2500) AS i`)
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		{At: noon, Phase: event.PhaseDeadLetter, Class: event.ClassFailed, Code: "insufficient_privilege", Count: 7, Alert: true},
	}))
	for _, giveBack := range []func(claim int64, alerts []oversight.Alert){
		func(claim int64, alerts []oversight.Alert) {
			require.NoError(t, db.Errors.SettleAlerts(t.Context(), claim, alerts, false))
		},
		func(int64, []oversight.Alert) {
			db.exec(`UPDATE notification_claims SET claimed_at = now() - interval '7 min'`)
		},
		func(claim int64, alerts []oversight.Alert) {
			require.NoError(t, db.Errors.SettleAlerts(t.Context(), claim, alerts, true))
		},
	} {
		claim, alerts, err := db.Errors.ClaimAlerts(t.Context())
		require.NoError(t, err)
		require.Len(t, alerts, 2501)
		_, others, err := db.Errors.ClaimAlerts(t.Context())
		require.NoError(t, err)
		require.Empty(t, others)
		giveBack(claim, alerts)
	}
	require.Zero(t, value[int](db, `SELECT count(*) FROM notification_claims`))
}

// A read-only database returns no alerts, since it couldn't record that they were reported.
func TestAReadOnlyDatabaseGivesNoAlerts(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetterOf(receipt())))
	readOnly := func(setting string) {
		db.exec(`DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ` + setting + `', current_database());
			PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
			  WHERE datname = current_database() AND pid <> pg_backend_pid();
		END $$`)
		db.Pool().Reset()
	}
	readOnly("on")
	for range 3 {
		_, alerts, err := db.Errors.ClaimAlerts(t.Context())
		require.Error(t, err)
		require.Empty(t, alerts)
	}
	readOnly("off")
	_, alerts, err := db.Errors.ClaimAlerts(t.Context())
	require.NoError(t, err)
	require.Len(t, alerts, 1)
}

func TestStatsCountAWindow(t *testing.T) {
	t.Parallel()
	db := open(t)
	now := time.Now()
	for _, age := range []time.Duration{0, time.Second, 10 * time.Minute, 3 * time.Hour} {
		db.process(receiptAt(now.Add(-age)), parsed())
	}
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetterOf(receipt())))
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		{At: now, Phase: event.PhaseParse, Class: event.ClassRejected, Code: "x", Count: 40},
		{At: now.Add(-2 * time.Hour), Phase: event.PhaseParse, Class: event.ClassRejected, Code: "x", Count: 500},
	}))
	stats, err := db.Read.Stats(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []oversight.EventCount{{Provider: "acme", Status: event.StatusProcessed, Count: 3}}, stats.Events)
	require.InDelta(t, 3.0/3600, stats.PerSecond, 1e-9)
	require.InDelta(t, 2.0/60, stats.Recent, 1e-9)
	require.Len(t, stats.DeadLetters, 1)
	require.EqualValues(t, 1, stats.DeadLetters[0].Count)
	require.Equal(t, []oversight.ErrorCount{{Phase: event.PhaseParse, Class: event.ClassRejected, Code: "x", Count: 40}}, stats.Errors)
}
