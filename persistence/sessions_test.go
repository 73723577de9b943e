package persistence_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

func session(n int, until time.Time) oversight.Session {
	id := sha256.Sum256([]byte(fmt.Sprint(n)))
	return oversight.Session{ID: id[:], Token: "ada", Fingerprint: []byte{1, 2}, ExpiresAt: until.UTC().Truncate(time.Microsecond)}
}

// A session lasts until its user logs out, or until it expires; both login and logout are in the audit log.
func TestASessionIsOpenedAndClosed(t *testing.T) {
	t.Parallel()
	db := open(t)
	one, old := session(1, time.Now().Add(time.Hour)), session(2, time.Now().Add(-time.Second))
	require.NoError(t, db.Audit.OpenSession(t.Context(), one, ada))
	require.NoError(t, db.Audit.OpenSession(t.Context(), old, ada))
	got, err := db.Audit.Session(t.Context(), one.ID)
	require.NoError(t, err)
	got.ExpiresAt = got.ExpiresAt.UTC()
	require.Equal(t, one, got)
	_, err = db.Audit.Session(t.Context(), old.ID)
	require.ErrorIs(t, err, event.ErrNotFound)

	require.NoError(t, db.Audit.CloseSession(t.Context(), one.ID, ada))
	_, err = db.Audit.Session(t.Context(), one.ID)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.NoError(t, db.Audit.CloseSession(t.Context(), one.ID, ada), "nothing is left to close")
	var actions []oversight.AuditAction
	for _, e := range db.audit() {
		actions = append(actions, e.Action)
		require.Equal(t, "ada", e.Actor)
	}
	require.Equal(t, []oversight.AuditAction{oversight.AuditLogout, oversight.AuditLogin, oversight.AuditLogin}, actions)
}

// A user who logs in repeatedly has at most a hundred sessions, and expired ones are purged.
func TestSessionsAreBoundedAndPurged(t *testing.T) {
	t.Parallel()
	db := open(t)
	for n := range 105 {
		require.NoError(t, db.Audit.OpenSession(t.Context(), session(n, time.Now().Add(time.Duration(n)*time.Minute)), ada))
	}
	require.Equal(t, 100, value[int](db, `SELECT count(*) FROM sessions`))
	_, err := db.Audit.Session(t.Context(), session(104, time.Time{}).ID)
	require.NoError(t, err, "the youngest stays")
	require.EqualValues(t, 45, db.purge(retention.Keys, time.Now().Add(49*time.Minute+30*time.Second)))
	require.Equal(t, 55, value[int](db, `SELECT count(*) FROM sessions`))
}
