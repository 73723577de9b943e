package persistence_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// After an expunge no table of the database contains a part of the body, whichever contained it before.
func TestNoTableContainsExpungedContent(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(1)
	const marker = "hush-hush"
	m := newMover(db, 10)
	item := m.event("evt_secret", noon, patchBody("1", `{"iban":"`+marker+`"}`))
	r := item.Receipt
	r.Headers = map[string]string{"x-name": marker}
	m.stage(item, m.event("evt_other", noon, patchBody("1", `{"n":1}`)))
	p, err := readImported(r, item.Body)
	require.NoError(t, err)
	persisted, err := db.Writer.Write(t.Context(), event.WholeEvent, r, item.Body, p, runOf(r))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	letter := died(r, time.Now().Add(time.Second))
	letter.Body = item.Body
	db.record(letter)
	_, err = db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, r, item.Body, false)
	require.NoError(t, err)
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{{At: noon, Code: "x", EventID: r.ID, Message: marker}}))
	db.exec(`INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms, answer)
VALUES ($1, 1, gen_random_uuid(), now(), 0, false, '', '', 1, $2)`, r.ID, []byte(marker))
	db.exec(`INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at, answer)
VALUES ($1, 1, 1, 'delivered', '', 1, 0, 1, now(), $2)`, r.ID, []byte(marker))
	db.exec(`INSERT INTO recovery_items (recovery_id, workflow_id, at, event_id, lane, receipt, body) VALUES ('r', 'w', now(), $1, '', '', $2)`,
		r.ID, []byte(marker))
	_, err = db.Fetches.SaveFetched(t.Context(), r.ID, event.Fetched{At: noon, State: json.RawMessage(`"` + marker + `"`)})
	require.NoError(t, err)

	before := db.tablesWith(marker)
	require.Subset(t, before, []string{
		"events", "event_entities", "entities", "entity_checkpoints", "dead_letters", "inbox", "import_rows", "recovery_items", "error_log",
		"fetched_states",
	})
	gone, err := db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.ImportLines)
	late, err := db.Fetches.SaveFetched(t.Context(), r.ID, event.Fetched{At: noon, State: json.RawMessage(`"` + marker + `"`)})
	require.NoError(t, err)
	require.Equal(t, noon, late.At)
	require.Empty(t, db.tablesWith(marker), "a state that was fetched meanwhile is not stored")
}

// tablesWith returns the tables that contain a text, unchanged or as bytes.
func (d *database) tablesWith(text string) (tables []string) {
	d.t.Helper()
	rows, err := d.sql.Query(d.t.Context(), `SELECT relname FROM pg_class
 WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname`)
	require.NoError(d.t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(d.t, err)
	for _, table := range all {
		content := value[string](d, fmt.Sprintf(`SELECT coalesce(string_agg(t::text, ' '), '') FROM %s AS t`, pgx.Identifier{table}.Sanitize()))
		if strings.Contains(content, text) || strings.Contains(content, hex.EncodeToString([]byte(text))) {
			tables = append(tables, table)
		}
	}
	return tables
}

// An event that is only staged in an import is expunged: the import continues without it.
func TestAnImportSkipsExpungedEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	m := newMover(db, 10)
	secret := m.event("evt_secret", noon, patchBody("1", `{"iban":"hush"}`))
	id := m.stage(secret, m.event("evt_other", noon, patchBody("2", `{"n":1}`)))
	gone, err := db.Upkeep.Expunge(t.Context(), secret.Receipt.ID, 0, ada)
	require.NoError(t, err)
	require.Equal(t, []string{secret.Receipt.WorkflowID()}, gone.WorkflowIDs)
	require.Equal(t, operation.Completed, m.finish(id).State)
	again := m.bring(m.event("evt_secret", noon, secret.Body))
	require.EqualValues(t, 1, again.Counts.Sum().There, "the decision stays")
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
	_, err = db.Read.Entity(t.Context(), thing("1"))
	require.ErrorIs(t, err, event.ErrNotFound)
}
