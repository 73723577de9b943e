package archive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

// An event that is expunged while an import is about to bring its dead letter back stays expunged.
func TestAnImportDoesNotRestoreExpungedEvents(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	letter := died(t, store, receiptAt(0), bodyOf(0))
	require.NoError(t, store.DeadLetters.DiscardDeadLetter(t.Context(), letter.ID, by))
	require.EqualValues(t, 1, purge(t, &archive.Archiver{Store: store.Upkeep, Bucket: bucket}, retention.DeadLetters))

	address := cluster.Database(t)
	fresh, err := persistence.Open(t.Context(), persistence.Config{URL: address, MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(fresh.Close)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	tx, err := conn.Begin(t.Context()) // as an expunge does
	require.NoError(t, err)
	id := letter.Receipt.ID
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, id)
	require.NoError(t, err)
	expunged := make(chan error, 1)
	go func() {
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for waits := false; !waits; {
			<-look.C
			if err := tx.QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits); err != nil {
				expunged <- err
				return
			}
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO decisions (event_id, decision, by, reason) VALUES ($1, 'expunged', 'ada', 'INC-1')`, id)
		expunged <- errors.Join(err, tx.Commit(t.Context()))
	}()
	bring(t, fresh, bucket)
	require.NoError(t, <-expunged)
	all, err := fresh.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{EventID: id})
	require.NoError(t, err)
	require.Empty(t, all)
}
