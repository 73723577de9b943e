package persistence_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// tapped opens a database behind a tap that counts bytes.
func tapped(t *testing.T) (*database, *wiretap) {
	t.Helper()
	tap := &wiretap{}
	return open(t, func(cfg *persistence.Config) {
		tap.server = cfg.URL
		cfg.URL = tap.listen(t)
	}), tap
}

// kept returns the body of an event and its projection, as PostgreSQL has them.
func (d *database) kept(id string) (body []byte, payload *string) {
	d.t.Helper()
	require.NoError(d.t, d.sql.QueryRow(d.t.Context(), `SELECT raw_body, payload::text FROM events WHERE id = $1::uuid`, id).
		Scan(&body, &payload))
	return body, payload
}

// PostgreSQL has the bodies of a batch already, so they and their projections aren't sent again. The stored bytes are those of the
// inbox, whether or not a projection is possible or is another text.
func TestABatchSendsNoBodyBack(t *testing.T) {
	t.Parallel()
	d, tap := tapped(t)
	inbox := d.Inbox.NewInboxWriter()
	bodies, size := map[string][]byte{}, 0
	for i := range 60 {
		raw := []byte(`{ "n": ` + strings.Repeat("1", 1+i%3) + `.10, "text": "` + incompressible(8<<10) + ` €😀"}`)
		bodies[d.intoBulk(inbox, raw)] = raw
		size += len(raw)
	}
	for _, raw := range []string{
		"", "no JSON", "\xef\xbb\xbf{\"a\": 1}", `{"a":"\u0000"}`, "{\"a\":\"\xff\"}", `{"a":1e999}`, `[1, 2]`, ` null `, "\x00",
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		bodies[d.intoBulk(inbox, []byte(raw))] = []byte(raw)
	}
	before := tap.sent.Load()
	events, err := d.Writer.ProcessBatch(t.Context(), 100, newBatchRun(), func(event.Receipt, []byte) (event.Parsed, error) {
		return parsed(), nil
	})
	require.NoError(t, err)
	require.Len(t, events, len(bodies))
	require.Less(t, tap.sent.Load()-before, int64(size/3), "what is sent is receipts")

	for id, raw := range bodies {
		other := receipt()
		require.NoError(t, d.write(other, raw))
		want, wantPayload := d.kept(other.ID)
		got, gotPayload := d.kept(id)
		require.True(t, bytes.Equal(raw, got))
		require.True(t, bytes.Equal(raw, want))
		require.Equal(t, wantPayload, gotPayload)
	}
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
}

// An event that is written again from the bulk lane, since its first run ended before it was processed, gets the body of the
// inbox, too.
func TestABatchOverwritesAnUnfinishedEventWithTheBodyOfTheInbox(t *testing.T) {
	t.Parallel()
	d := open(t)
	r := d.shared().Stored([]byte(`{"n": 1}`))
	d.exec(`UPDATE events SET status = 'persisted', outcome = NULL, processed_at = NULL`)
	stored, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneBulk, r, []byte(`{"n":  2}`), false)
	require.NoError(t, err)
	require.True(t, stored)
	require.Equal(t, map[string]event.Outcome{r.ID: event.OutcomeProcessed}, outcomes(d.batch(newBatchRun(), nil)))
	got, payload := d.kept(r.ID)
	require.Equal(t, `{"n":  2}`, string(got))
	require.Equal(t, `{"n": 2}`, *payload)
}

// A projection with the text of the body isn't sent next to it.
func TestAnEventSendsItsBodyOnce(t *testing.T) {
	t.Parallel()
	d, tap := tapped(t)
	raw := []byte(`{"text":"` + incompressible(64<<10) + `"}`)
	require.NoError(t, d.write(receipt(), raw)) // statements are prepared
	r := receipt()
	before := tap.sent.Load()
	require.NoError(t, d.write(r, raw))
	require.Less(t, tap.sent.Load()-before, int64(len(raw)*3/2))
	_, payload := d.kept(r.ID)
	require.JSONEq(t, string(raw), *payload)
}

func (d *database) write(r event.Receipt, raw []byte) error {
	_, err := d.Writer.Write(d.t.Context(), event.WholeEvent, r, raw, parsed(), event.Run{WorkflowID: r.WorkflowID(), RunID: "run"})
	return err
}

func (d *database) intoBulk(inbox *persistence.InboxWriter, raw []byte) (id string) {
	d.t.Helper()
	r := receipt()
	stored, err := inbox.Spool(d.t.Context(), event.LaneBulk, r, raw, false)
	require.NoError(d.t, err)
	require.True(d.t, stored)
	return r.ID
}
