package persistence_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
)

// audit returns the whole audit log, newest first.
func (d *database) audit() []oversight.AuditEntry {
	d.t.Helper()
	entries, err := d.Audit.AuditLog(d.t.Context(), oversight.AuditQuery{})
	require.NoError(d.t, err)
	return entries
}

func TestTheAuditLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.NoError(t, db.Audit.Audit(t.Context(), ada.Did("test.done", "thing:1", json.RawMessage(`{"n":1}`))))
	for _, statement := range []string{
		`UPDATE audit_log SET actor = 'eve'`, `DELETE FROM audit_log`, `TRUNCATE audit_log`,
	} {
		_, err := db.sql.Exec(t.Context(), statement)
		require.ErrorContains(t, err, "append-only", statement)
	}
	db.exec(`BEGIN`)
	db.exec(`SELECT set_config('holdfast.purge_audit_log', 'on', true)`)
	db.exec(`DELETE FROM audit_log WHERE at < now() - interval '1 hour'`) // as the purge by age does
	_, err := db.sql.Exec(t.Context(), `UPDATE audit_log SET actor = 'eve'`)
	require.ErrorContains(t, err, "append-only", "a purge changes nothing either")
	db.exec(`ROLLBACK`)

	require.Len(t, db.audit(), 1)
	got := db.audit()[0]
	require.WithinDuration(t, time.Now(), got.At, time.Minute)
	want := ada.Did("test.done", "thing:1", json.RawMessage(`{"n": 1}`))
	want.ID, want.At = got.ID, got.At
	require.Equal(t, want, got)
}

func TestTheAuditLogIsListedNewestFirst(t *testing.T) {
	t.Parallel()
	db := open(t)
	eve := oversight.Actor{Name: "eve"}
	for _, e := range []oversight.AuditEntry{
		ada.Did("test.done", "thing:1", nil), eve.Did("test.done", "thing:2", nil), ada.Did("test.undone", "thing:1", nil),
	} {
		require.NoError(t, db.Audit.Audit(t.Context(), e))
	}
	list := func(q oversight.AuditQuery) (did []string) {
		entries, err := db.Audit.AuditLog(t.Context(), q)
		require.NoError(t, err)
		for _, e := range entries {
			did = append(did, e.Actor+" "+string(e.Action)+" "+e.Object)
		}
		return did
	}
	first, second, third := "ada test.done thing:1", "eve test.done thing:2", "ada test.undone thing:1"
	require.Equal(t, []string{third, second, first}, list(oversight.AuditQuery{}))
	require.Equal(t, []string{third, first}, list(oversight.AuditQuery{Actor: "ada"}))
	require.Equal(t, []string{second, first}, list(oversight.AuditQuery{Action: "test.done"}))
	require.Equal(t, []string{third, first}, list(oversight.AuditQuery{Object: "thing:1"}))
	require.Equal(t, []string{third}, list(oversight.AuditQuery{Limit: 1}))
	require.Equal(t, []string{second, first}, list(oversight.AuditQuery{Before: db.audit()[0].ID}))
	require.Empty(t, list(oversight.AuditQuery{Until: time.Now().Add(-time.Hour)}))
	require.Len(t, list(oversight.AuditQuery{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}), 3)
}
