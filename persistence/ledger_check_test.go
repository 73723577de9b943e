package persistence_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
)

// bookkeeper is a sender with a ledger.
type bookkeeper struct {
	*database
	ledger.Ledger
	run string
}

func newBookkeeper(t *testing.T) *bookkeeper {
	t.Helper()
	run := fmt.Sprintf("r%d", time.Now().UnixNano())
	return &bookkeeper{open(t), ledger.Ledger{Runs: []ledger.Run{{ID: run}}}, run}
}

// sent records that a new event was sent, and the status of the response.
func (b *bookkeeper) sent(status int) event.Receipt {
	r := receipt()
	r.Key = "evt_" + b.run + r.ID[24:]
	b.again(r, status)
	return r
}

func (b *bookkeeper) again(r event.Receipt, status int) {
	b.Entries = append(b.Entries, ledger.Entry{
		Event: ledger.Event{Provider: r.Provider, Key: r.Key, SHA256: sha256.Sum256(body)},
		Seq:   int64(len(b.Entries)), Kind: ledger.KindEvent, At: time.Now(), Status: status, Took: time.Millisecond,
	})
}

func (b *bookkeeper) report() ledger.Report {
	b.t.Helper()
	report, err := check.Ledger(b.t.Context(), persistence.Config{URL: b.url}, b.Ledger)
	require.NoError(b.t, err)
	return report
}

// finds asserts which invariants are broken, by which events, and that no other one is.
func (b *bookkeeper) finds(wanted map[ledger.Invariant][]string) {
	b.t.Helper()
	report := b.report()
	got := map[ledger.Invariant][]string{}
	for _, f := range report.Findings {
		if f.Count > 0 {
			got[f.Invariant] = f.Examples
		}
	}
	require.Equal(b.t, wanted, got)
}

type broken = map[ledger.Invariant][]string

// workflows returns the names of events in a report.
func workflows(receipts ...event.Receipt) (ids []string) {
	for _, r := range receipts {
		ids = append(ids, r.WorkflowID())
	}
	slices.Sort(ids)
	return ids
}

func waiting(t *testing.T, b *bookkeeper, r event.Receipt) {
	t.Helper()
	b.exec(`INSERT INTO inbox (workflow_id, event_id, lane, provider, receipt, raw_body, reject, received_at)
	        VALUES ($1, $2, 'overflow', $3, '{}', $4, false, now())`, r.WorkflowID(), r.ID, r.Provider, body)
}

func TestALedgerThatHolds(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	processed, dead, unknown := b.sent(202), b.sent(202), b.sent(ledger.NoAnswer)
	b.sent(503)
	b.sent(401)
	b.again(processed, 200)
	b.again(processed, 429)
	b.process(processed, parsed(patch("1", `{"a":1}`), patch("2", `{"a":1}`)))
	b.process(unknown, parsed(patch("1", `{"b":[1.10,"x"]}`)))
	b.record(deadLetter(dead))
	b.process(receipt(), parsed(patch("1", `{"c":1}`))) // not in the ledger

	b.finds(broken{ledger.Recovered: {unknown.WorkflowID()}})
	report := b.report()
	require.True(t, report.Holds())
	require.Equal(t, []int{5, 2, 1, 2, 2, 1, 0}, []int{report.Sent, report.Acknowledged, report.Refused, report.Unknown,
		report.Processed, report.Dead, report.Waiting})
	require.Equal(t, b.Entries[0].At.UTC().Truncate(time.Microsecond), report.Timing.FirstSent)
	require.Positive(t, report.Timing.PerSecond)
	require.Equal(t, report.Timing.FromReceipt.P50, report.Timing.FromReceipt.Max, "there is one that was acknowledged")
}

func TestLost(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	r, spooled := b.sent(202), b.sent(202)
	b.finds(broken{ledger.Lost: workflows(r, spooled)})
	waiting(t, b, spooled)
	b.finds(broken{ledger.Lost: {r.WorkflowID()}, ledger.Stuck: {spooled.WorkflowID()}})
	require.Equal(t, 1, b.report().Waiting)
}

// Two rows of one key are two events, whatever the reason.
func TestDuplicated(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	first := b.sent(202)
	b.process(first, parsed())
	second := first
	second.ID = uuid.Must(uuid.NewV7()).String()
	b.exec(`DELETE FROM idempotency_keys`)
	b.process(second, parsed())
	b.finds(broken{ledger.Duplicated: {first.WorkflowID()}})

	// A key is free after its window.
	b.exec(`UPDATE events SET receipt = $2, received_at = received_at - interval '16 minutes' WHERE id = $1`, first.ID, `{"dedupe_window":"15m0s"}`)
	b.exec(`UPDATE events SET receipt = $2 WHERE id = $1`, second.ID, `{"dedupe_window":"15m0s"}`)
	b.finds(broken{})
}

func TestDeadTwice(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	first := b.sent(202)
	b.record(deadLetter(first))
	second := receipt()
	b.record(deadLetter(second))
	b.exec(`UPDATE dead_letters SET key = $1, workflow_id = $2 WHERE event_id = $3`, first.Key, first.WorkflowID(), second.ID)
	b.finds(broken{ledger.Duplicated: {first.WorkflowID()}})
}

// Refused events must not be stored, nor events that the run never sent.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*bookkeeper, event.Receipt){
		"event":       func(b *bookkeeper, r event.Receipt) { b.process(r, parsed()) },
		"dead letter": func(b *bookkeeper, r event.Receipt) { b.record(deadLetter(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			b.process(b.sent(202), parsed())
			refused, never, edited := b.sent(401), receipt(), receipt()
			never.Key, edited.Key = "x"+b.run+"y", "x"+b.run+"y:r1"
			edited.Replaces = never.ID
			store(b, refused)
			store(b, never)
			store(b, edited)
			b.finds(broken{ledger.Unexpected: workflows(refused, never)})
		})
	}
	b := newBookkeeper(t)
	r := b.sent(401)
	waiting(t, b, r)
	b.finds(broken{ledger.Unexpected: {r.WorkflowID()}, ledger.Stuck: {r.WorkflowID()}})
}

func TestBytes(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	stored, dead, good := b.sent(202), b.sent(ledger.NoAnswer), b.sent(202)
	b.process(stored, parsed())
	b.process(good, parsed())
	b.record(deadLetter(dead))
	b.finds(broken{ledger.Recovered: {dead.WorkflowID()}})
	b.exec(`UPDATE events SET raw_body = raw_body || ' ' WHERE id = $1`, stored.ID)
	b.exec(`UPDATE dead_letters SET raw_body = '' WHERE event_id = $1`, dead.ID)
	b.finds(broken{
		ledger.Recovered: {dead.WorkflowID()}, ledger.Bytes: workflows(stored, dead),
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]string{
		"state":    `UPDATE entities SET state = '{"a":1,"b":3}' WHERE external_id = '1'`,
		"deletion": `UPDATE entities SET deleted = true WHERE external_id = '1'`,
		"order":    `UPDATE entities SET version = 5 WHERE external_id = '1'`,
		"row":      `DELETE FROM entities WHERE external_id = '1'`,
		"link":     `DELETE FROM event_entities WHERE external_id = '1'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			for _, change := range []event.Change{snapshot("1", `{"a":1}`), patch("1", `{"b":2.50}`), snapshot("2", `{}`)} {
				b.process(b.sent(202), parsed(change))
			}
			b.finds(broken{})
			b.exec(tamper)
			want := broken{ledger.Fold: {"acme/thing/1"}}
			if name == "link" { // the entity has counted it
				want[ledger.Checkpoints] = want[ledger.Fold]
			}
			b.finds(want)
		})
	}
}

func TestCheckpointsOfALedger(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]string{
		"state":      `UPDATE entity_checkpoints SET state = '{"a":9}' WHERE links = 2`,
		"links":      `UPDATE entity_checkpoints SET links = 9 WHERE links = 2`,
		"order":      `UPDATE entity_checkpoints SET occurred_at = occurred_at + interval '1 day'`,
		"latest":     `UPDATE entity_checkpoints SET latest_at = latest_at - interval '1 us'`,
		"no entity":  `UPDATE entity_checkpoints SET external_id = '7'`,
		"count":      `UPDATE entities SET links = 7`,
		"last reset": `UPDATE entities SET reset_id = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			b.CheckpointEvery(2)
			for i, change := range []event.Change{snapshot("1", `{"a":1}`), patch("1", `{"b":2.50}`), patch("1", `{}`), patch("1", `{"c":1}`)} {
				p := parsed(change)
				p.OccurredAt = noon.Add(time.Duration(i) * time.Second)
				b.process(b.sent(202), p)
			}
			require.Equal(t, 1, value[int](b.database, `SELECT count(*) FROM entity_checkpoints`))
			b.finds(broken{})
			b.exec(tamper)
			id := "1"
			if name == "no entity" {
				id = "7"
			}
			b.finds(broken{ledger.Checkpoints: {"acme/thing/" + id}})
		})
	}
}

// Collapsed changes are trusted, and later ones are folded onto the base.
func TestALedgerOverABase(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]struct {
		sql   string
		finds broken
	}{
		"nothing": {`SELECT 1`, broken{}},
		"state":   {`UPDATE entity_bases SET state = '{"a":9}'`, broken{ledger.Fold: {"acme/thing/1"}, ledger.Checkpoints: {"acme/thing/1"}}},
		"links":   {`UPDATE entity_bases SET links = 9`, broken{ledger.Checkpoints: {"acme/thing/1"}}},
		"order":   {`UPDATE entities SET base_id = last_event_id`, broken{ledger.Checkpoints: {"acme/thing/1"}}},
		"gone":    {`DELETE FROM entity_bases`, broken{ledger.Fold: {"acme/thing/1"}, ledger.Checkpoints: {"acme/thing/1"}}},
		"no entity": {`UPDATE entity_bases SET external_id = '7'`,
			broken{ledger.Fold: {"acme/thing/1"}, ledger.Checkpoints: {"acme/thing/1", "acme/thing/7"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			b.CheckpointEvery(2)
			b.patchDaily("1", 5)
			require.EqualValues(t, 5, b.purge(retention.Events, noon))
			for i := range 3 {
				p := parsed(patch("1", fmt.Sprintf(`{"b%d":1}`, i)))
				p.OccurredAt = noon.Add(time.Duration(i) * time.Second)
				b.process(b.sent(202), p)
			}
			require.Positive(t, value[int](b.database, `SELECT count(*) FROM entity_checkpoints`))
			b.exec(tamper.sql)
			b.finds(tamper.finds)
		})
	}
}

func TestNamesOfALedger(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]string{
		"of a name":       `UPDATE entity_names SET external_id = 'SB1' WHERE name = 'MD1'`,
		"an entity still": `INSERT INTO entities (provider, kind, external_id) VALUES ('acme', 'member', 'MD1')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			b.process(b.sent(202), parsed(member(`{"a":1}`, "", "MD1", "SB1")))
			b.process(b.sent(202), parsed(member(`{"b":1}`, "CU1", "MD1")))
			b.finds(broken{})
			b.exec(tamper)
			b.finds(broken{ledger.Names: {"acme/member/MD1"}})
		})
	}
}

func TestTwoEndsAndNone(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	both, stuck, resolved := b.sent(202), b.sent(202), b.sent(202)
	b.record(deadLetter(both))
	b.process(both, parsed())
	for _, r := range []event.Receipt{stuck, resolved} {
		_, err := b.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
	}
	b.record(deadLetter(resolved))
	b.exec(`UPDATE dead_letters SET state = 'resolved', resolved_at = now(), resolved_run_id = 'r' WHERE event_id = $1`, resolved.ID)
	b.exec(`UPDATE dead_letters SET state = 'open' WHERE event_id = $1`, both.ID)
	b.finds(broken{
		ledger.TwoEnds: {both.WorkflowID()}, ledger.Stuck: workflows(stuck, resolved),
	})
}

// A discarded event has no effect, is not processed and doesn't wait: whatever undoes that is found.
func TestUndone(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]string{
		"link":   `INSERT INTO event_entities VALUES ($1, 'acme', 'thing', '1', 1, 'patch', '{}', NULL, now())`,
		"status": `UPDATE events SET status = 'processed', processed_at = now(), outcome = 'processed' WHERE id = $1`,
		"letter": `UPDATE dead_letters SET state = 'open' WHERE event_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBookkeeper(t)
			r := b.sent(202)
			_, err := b.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
			require.NoError(t, err)
			b.record(deadLetter(r))
			require.NoError(t, b.DeadLetters.DiscardDeadLetter(t.Context(), b.deadLetterOf(r).ID, ada))
			b.finds(broken{})
			b.exec(undo, r.ID)
			require.Equal(t, []string{r.WorkflowID()}, b.report().Finding(ledger.Undone).Examples)
		})
	}
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	b.process(b.sent(202), parsed())
	conn := connect(t, b.url)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	var pid int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	b.finds(broken{})
	require.Eventually(t, func() bool {
		f := b.report().Finding(ledger.Leaks)
		return f.Count == 1 && f.Examples[0] == fmt.Sprintf(" pid %d", pid)
	}, time.Minute, 200*time.Millisecond)
}

// Unfinished counts down as events are finished.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	processed, dead, spooled, restored := b.sent(202), b.sent(202), b.sent(202), b.sent(202)
	b.sent(503)
	check, err := check.Open(t.Context(), persistence.Config{URL: b.url}, b.Ledger)
	require.NoError(t, err)
	t.Cleanup(check.Close)
	left := func(want int) {
		t.Helper()
		n, err := check.Unfinished(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	left(4)
	waiting(t, b, spooled)
	b.record(deadLetter(dead))
	left(3)
	again := deadLetter(restored)
	again.Failure.Step, again.Failure.Code = event.StepRun, operation.CodeLost
	b.record(again)
	left(3) // a sweep that has restored it processes it again
	b.exec(`UPDATE dead_letters SET state = 'exhausted' WHERE error_code = $1`, operation.CodeLost)
	left(2) // it waits for an operator
	b.process(processed, parsed())
	left(1)
	b.process(spooled, parsed())
	left(1) // the inbox row of a start that was confirmed late is removed a moment later
	b.exec(`DELETE FROM inbox`)
	left(0)
	report, err := check.Report(t.Context())
	require.NoError(t, err)
	require.True(t, report.Holds())
	_, err = check.Report(t.Context())
	require.NoError(t, err, "it can be asked again")
}

// Ledgers and tables may be large.
func TestALongLedger(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	const n = 30_000
	for range n {
		b.sent(202)
	}
	b.insertEvents()
	report := b.report()
	require.True(t, report.Holds(), "%+v", report.Findings)
	require.Equal(t, n, report.Processed)
}

// insertEvents stores the sent events, in one statement per table.
func (b *bookkeeper) insertEvents() {
	b.t.Helper()
	keys := make([]string, len(b.Entries))
	for i, e := range b.Entries {
		keys[i] = e.Key
	}
	b.exec(`INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt,
	               payload_note, occurred_at, occurred_at_missing, received_at, processed_at, workflow_id, run_id, request_id,
	               correlation_id)
	        SELECT gen_random_uuid(), 'acme', '', key, 'event', 't', 'processed', 'processed', $2, '{}', '{}', '', now(), false, now(), now(),
	               'acme:' || key, 'r', '', '' FROM unnest($1::text[]) AS key`, keys, body)
	b.exec(`INSERT INTO idempotency_keys (provider, key, event_id, first_seen) SELECT provider, key, id, now() FROM events`)
	b.exec(`INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
	        SELECT id, 'acme', 'thing', (row_number() OVER () % 1000)::text, 1, 'patch', '{"a":1}', occurred_at FROM events`)
	b.exec(`INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
	        SELECT DISTINCT ON (external_id) 'acme', 'thing', external_id, '{"a":1}'::jsonb, occurred_at, event_id FROM event_entities
	         ORDER BY external_id, occurred_at DESC, event_id DESC`)
}
