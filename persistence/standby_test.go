package persistence_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
)

// replicatedDatabase is a database whose commits wait for a standby.
type replicatedDatabase struct {
	*database
	primary *stacktest.Cluster
	standby *stacktest.Standby
}

func openReplicated(t *testing.T) *replicatedDatabase {
	t.Helper()
	primary := stacktest.NewCluster(t)
	database := primary.Database(t)
	require.NoError(t, migrations.Up(t.Context(), database))
	standby := primary.NewStandby(t)
	require.NoError(t, primary.Require(standby))
	d := &replicatedDatabase{database: openURL(t, database), primary: primary, standby: standby}
	require.Eventually(t, func() bool {
		return value[bool](d.database, `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	}, time.Minute, 10*time.Millisecond)
	t.Cleanup(func() { _ = primary.RequireNone() }) // dropping the database would wait
	return d
}

// waiting returns how many commits wait for the standby.
func (d *replicatedDatabase) waiting() int64 {
	return value[int64](d.database, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
}

// waits runs a function until it waits for the standby; result is its error at the end.
func (d *replicatedDatabase) waits(do func() error) (result <-chan error) {
	d.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	require.Eventually(d.t, func() bool { return d.waiting() > 0 || len(ended) > 0 }, time.Minute, time.Millisecond)
	require.Empty(d.t, ended, "it did not wait for the standby")
	return ended
}

// isVisible leaves the server with a commit that is visible, but not on the standby.
func (d *replicatedDatabase) isVisible(do func(context.Context) error) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	ended := d.waits(func() error { return do(ctx) })
	cancel() // the driver has the server cancel the statement
	require.Error(d.t, <-ended)
	require.Eventually(d.t, func() bool { return d.waiting() == 0 }, time.Minute, time.Millisecond)
}

func (d *replicatedDatabase) onStandby(table, id string) bool {
	d.t.Helper()
	name := value[string](d.database, `SELECT current_database()`)
	var is bool
	err := connect(d.t, d.standby.URL(name)).QueryRow(d.t.Context(),
		`SELECT EXISTS (SELECT FROM `+table+` WHERE event_id = $1::uuid)`, id).Scan(&is)
	require.NoError(d.t, err)
	return is
}

// An event in the inbox that only the primary has doesn't make another one its duplicate.
func TestADuplicateInTheInboxIsOnTheStandby(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	require.NoError(t, d.standby.Stop())
	w := d.Inbox.NewInboxWriter()
	first, second := receipt(), receipt()
	second.Key = first.Key
	spool := func(r event.Receipt) (bool, error) { return w.Spool(t.Context(), event.LaneOverflow, r, body, false) }

	_, err := spool(first)
	require.Error(t, err, "its insert waited until it was cancelled")
	require.Eventually(t, func() bool { return value[bool](d.database, `SELECT EXISTS (SELECT FROM inbox)`) },
		time.Minute, time.Millisecond, "but it is there")
	for range 2 {
		_, err := spool(second)
		require.Error(t, err)
		require.NotEqual(t, event.ClassRejected, event.ClassOf(err))
	}
	require.NoError(t, d.standby.Start())
	stored, err := spool(second)
	require.NoError(t, err)
	require.False(t, stored)
	require.True(t, d.onStandby("inbox", first.ID))
}

// Work that an event's step finds already done is on the standby before the step ends.
func TestAStepThatFindsItsWorkDoneWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	steps := map[string]func(context.Context, event.Receipt) error{
		"process": func(ctx context.Context, r event.Receipt) error {
			_, err := d.Writer.Write(ctx, event.WholeEvent, r, body, parsed(), runOf(r))
			return err
		},
		"persist": func(ctx context.Context, r event.Receipt) error {
			_, err := d.Writer.Write(ctx, event.RowOnly, r, body, parsed(), runOf(r))
			return err
		},
		"record dead letter": func(ctx context.Context, r event.Receipt) error {
			return d.DeadLetters.RecordDeadLetter(ctx, deadLetter(r))
		},
	}
	for name, step := range steps {
		require.NoError(t, d.standby.Stop())
		r := receipt()
		d.isVisible(func(ctx context.Context) error { return step(ctx, r) })
		again := d.waits(func() error { return step(t.Context(), r) })
		require.NoError(t, d.standby.Start())
		require.NoError(t, <-again, name)
	}
}

// A decision that the standby may not have doesn't end an event.
func TestADecisionIsOnTheStandby(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	r, id := d.shared().Letter()
	require.NoError(t, d.standby.Stop())
	d.isVisible(func(ctx context.Context) error { return d.DeadLetters.DiscardDeadLetter(ctx, id, ada) })
	for _, step := range []func() error{
		func() error {
			_, err := d.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
			return err
		},
		func() error { return d.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r)) },
	} {
		ended := d.waits(step)
		require.NoError(t, d.standby.Start())
		var decision *event.DecisionError
		require.ErrorAs(t, <-ended, &decision)
		require.NoError(t, d.standby.Stop())
	}
}

// The facts about the server have its standbys, as far as the role may see them.
func TestFactsHaveTheStandbys(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	facts := func(url string) persistence.Facts {
		store, err := persistence.Open(t.Context(), persistence.Config{URL: url})
		require.NoError(t, err)
		defer store.Close()
		f, err := store.Read.Facts(t.Context())
		require.NoError(t, err)
		return f
	}
	f := facts(d.url)
	require.NotEmpty(t, f.StandbyNames)
	require.Len(t, f.Standbys, 1)
	require.True(t, f.Standbys[0].IsSynchronous)
	require.NoError(t, d.primary.RequireNone())
	require.Eventually(t, func() bool {
		f = facts(d.url)
		return f.StandbyNames == "" && len(f.Standbys) == 1 && !f.Standbys[0].IsSynchronous
	}, time.Minute, 10*time.Millisecond)

	d.exec(`CREATE ROLE plain LOGIN PASSWORD 'plain'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain`)
	u, err := url.Parse(d.url)
	require.NoError(t, err)
	u.User = url.UserPassword("plain", "plain")
	f = facts(u.String())
	require.False(t, f.SeesStandbys)
	require.Empty(t, f.Standbys)
}

// A commit whose wait is cancelled has an unknown outcome. PostgreSQL reports a success, with a warning.
func TestACanceledCommitWaitFails(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	waits := d.spool(event.LaneOverflow, 1)[0]
	require.NoError(t, d.standby.Stop())
	for name, do := range map[string]func() error{
		"transaction": func() error {
			_, err := d.Writer.Write(t.Context(), event.RowOnly, receipt(), body, parsed(), runOf(receipt()))
			return err
		},
		"batch": func() error { r := receipt(); return d.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r)) },
		"rows": func() error {
			_, err := d.Inbox.RemoveFromInbox(t.Context(), []string{waits.WorkflowID()}, []string{waits.ID})
			return err
		},
	} {
		ended := d.waits(do)
		d.exec(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		err := <-ended
		require.Equal(t, "statement_completion_unknown", event.CodeOf(err), name)
		require.Equal(t, event.ClassTransient, event.ClassOf(err), name)
	}
}

// A failover to an asynchronous standby undoes changes of subscriptions, and reuses their versions.
func TestAFailoverChangesWhatASubscriptionIs(t *testing.T) {
	t.Parallel()
	primary := stacktest.NewCluster(t)
	database := primary.Database(t)
	require.NoError(t, migrations.Up(t.Context(), database))
	standby := primary.NewStandby(t)
	d := openURL(t, bothServers(t, database, standby.URL("")))
	identity := value[string](d, `SELECT feed_identity()`)
	d.subscribe("both", delivery.Events{Types: []string{"thing.*"}})
	require.Eventually(t, func() bool {
		return value[bool](d, `SELECT count(*) = 1 FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()`)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, standby.Stop())
	lost := d.subscribe("lost", delivery.Events{Types: []string{"thing.*"}})
	r := receipt()
	d.mustProcess(r, parsed())
	require.Contains(t, d.queued(r), lost.ID)

	require.NoError(t, primary.Stop())
	require.NoError(t, standby.Start())
	require.NoError(t, standby.Promote(t.Context()))
	d.sql = connect(t, d.url)
	require.NotEqual(t, identity, value[string](d, `SELECT feed_identity()`), "the feed's clients begin anew at once")
	kept := d.another().subscribe("kept", delivery.Events{Types: []string{"thing.*"}})
	r = receipt()
	require.Eventually(t, func() bool { // its connections have broken
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.Contains(t, d.queued(r), kept.ID)
	require.Len(t, d.queued(r), 2)
}

// bothServers returns the URL of a database on whichever of two servers accepts writes.
func bothServers(t *testing.T, primary, standby string) string {
	t.Helper()
	both, err := url.Parse(primary)
	require.NoError(t, err)
	other, err := url.Parse(standby)
	require.NoError(t, err)
	both.Host += "," + other.Host
	query := both.Query()
	query.Set("target_session_attrs", "read-write")
	both.RawQuery = query.Encode()
	return both.String()
}
