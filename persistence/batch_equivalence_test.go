package persistence_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// books makes events with all operations of a fold, for few entities.
const books = `
name: ledger
auth: [{hmac: {secrets: LEDGER_SECRET, signed: "{body}", signature: {header: x-signature}}}]
type: .body.type
key: {parts: [.body.id]}
occurred_at: [{expr: .body.at, units: [unix_s]}]
lane: bulk
entities:
  - {kind: item, types: [item.set, item.gone], id: .body.item, state: .body.state, delete_on: [item.gone], version: .body.version}
  - {kind: item, types: [item.patch, item.both], id: .body.item, op: patch, state: .body.state, version: .body.version}
  - {kind: owner, types: ["item.*"], each: ".body.owners[]?", id: $item, op: patch, state: "{last: .body.item, n: .body.at}"}
overrides:
  - {types: [noise], ignore: true}
  - {types: [short.*], dedupe: 1h}
`

// The single path and the bulk lane leave the same rows: for events of several providers and all operations, redelivered, out of
// order, of the same entities, ignored, expired, or impossible to parse; in batches of any size.
func TestABatchWritesTheSameRowsAsSingleEvents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 42))
			source := newEventSource(t, random)
			single, bulk := open(t), open(t)
			inbox := bulk.Inbox.NewInboxWriter()
			left := map[string]bool{}
			for range 12 {
				for range 1 + random.IntN(60) {
					r, body := source.next()
					failed := source.processSingle(single, r, body) != nil
					stored, err := inbox.Spool(t.Context(), event.LaneBulk, r, body, false)
					require.NoError(t, err)
					if failed && stored {
						left[r.ID] = true
					}
					if random.IntN(25) == 0 {
						source.takeBatch(bulk, 1+random.IntN(40))
					}
				}
				for source.takeBatch(bulk, 1+random.IntN(100)) > 0 {
				}
				source.clock = source.clock.Add(2 * time.Hour) // windows of short.* end while no event is pending
			}
			require.Greater(t, len(left), 5, "the test has events that leave")
			require.Equal(t, left, overflowOf(bulk))
			require.Greater(t, value[int](single, `SELECT count(*) FROM events`), 150)
			for _, query := range []string{
				`SELECT to_jsonb(e) - '{workflow_id,run_id,persisted_at,processed_at,receipt}'::text[], receipt::text FROM events AS e
				  WHERE NOT id = ANY ($1) ORDER BY id`,
				`SELECT to_jsonb(e) - '{updated_at,revision}'::text[] FROM entities AS e WHERE $1::uuid[] IS NOT NULL
				  ORDER BY provider, kind, external_id`,
				`SELECT to_jsonb(e) FROM event_entities AS e WHERE $1::uuid[] IS NOT NULL ORDER BY event_id, position`,
				`SELECT to_jsonb(e) FROM idempotency_keys AS e WHERE NOT event_id = ANY ($1) ORDER BY provider, key`,
			} {
				require.Equal(t, rowsOf(single, query, left), rowsOf(bulk, query, left))
			}
		})
	}
}

// eventSource makes authentic events as the ingress would receive them.
type eventSource struct {
	t         testing.TB
	random    *rand.Rand
	catalogue *providers.Catalogue
	clock     time.Time
	ids       int
	sent      []sentEvent
}

type sentEvent struct {
	provider string
	request  func() *auth.Request
}

const sourceSecret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz"

func newEventSource(t testing.TB, random *rand.Rand) *eventSource {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ledger.yaml"), []byte(books), 0o600))
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	catalogue = catalogue.WithSecrets(func(string) []string { return []string{sourceSecret} })
	return &eventSource{t: t, random: random, catalogue: catalogue, clock: noon}
}

// next returns the next event: a new one, or one that was sent before.
func (s *eventSource) next() (event.Receipt, []byte) {
	s.clock = s.clock.Add(time.Duration(s.random.IntN(1000)) * time.Millisecond)
	if len(s.sent) == 0 || s.random.IntN(5) > 0 {
		s.sent = append(s.sent, s.make())
	}
	recent := s.sent[max(0, len(s.sent)-1-s.random.IntN(20)):]
	one := recent[0]
	if s.random.IntN(5) > 0 {
		one = recent[len(recent)-1]
	}
	p, _ := s.catalogue.Lookup(one.provider)
	r := one.request()
	require.NoError(s.t, p.SignWithSecrets(r, s.clock), one.provider)
	require.NoError(s.t, p.Authenticate(r, s.clock), one.provider)
	items, err := p.Split(r)
	require.NoError(s.t, err)
	item := items[s.random.IntN(len(items))]
	return event.Receipt{
		ID: s.newID(), Provider: one.provider, Source: item.Source, Key: item.Key, KeyFrom: item.KeyFrom, Definition: p.Digest(),
		DedupeWindow: item.DedupeWindow, Type: item.Type, Priority: item.Priority, ReceivedAt: s.clock.UTC(),
		Headers: item.Headers, Query: item.Query, Path: item.Path, Root: item.Root, RequestID: "req_1", CorrelationID: "c",
	}, item.Body
}

// newID returns the same IDs in every run, so that failures are reproducible.
func (s *eventSource) newID() string {
	s.ids++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d", s.ids))
	return uuid.Must(uuid.FromBytes(sum[:16])).String()
}

func (s *eventSource) make() sentEvent {
	if s.random.IntN(3) == 0 {
		if e, ok := s.sample(); ok {
			return e
		}
	}
	body := s.bookBody()
	return sentEvent{provider: "ledger", request: func() *auth.Request {
		return &auth.Request{Method: "POST", Header: map[string][]string{"content-type": {"application/json"}}, Body: body}
	}}
}

// sample returns an event of a built-in provider, about one of few objects.
func (s *eventSource) sample() (sentEvent, bool) {
	names := []string{"stripe", "github", "gocardless", "clerk", "resend", "shopify", "svix", "slack"}
	p, ok := s.catalogue.Lookup(names[s.random.IntN(len(names))])
	if !ok || len(p.SampleTypes()) == 0 {
		return sentEvent{}, false
	}
	eventType := p.SampleTypes()[s.random.IntN(len(p.SampleTypes()))]
	id, at := fmt.Sprint("s", s.random.IntN(40)), s.clock.Add(-time.Duration(s.random.IntN(600))*time.Second)
	return sentEvent{provider: p.Name(), request: func() *auth.Request {
		r, err := p.Sample(eventType, id, at)
		require.NoError(s.t, err)
		return r
	}}, true
}

func (s *eventSource) bookBody() []byte {
	types := []string{"item.set", "item.set", "item.patch", "item.patch", "item.patch", "item.gone", "item.both", "noise", "short.x"}
	fields := map[string]any{
		"id": fmt.Sprint("e", len(s.sent)), "type": types[s.random.IntN(len(types))],
		"item": fmt.Sprint("i", s.random.IntN(8)), "at": s.clock.Unix() - s.random.Int64N(3600),
		"state": map[string]any{fmt.Sprint("f", s.random.IntN(4)): s.random.IntN(100), "gone": nil, "text": "a\x00b é"},
	}
	if s.random.IntN(3) == 0 {
		fields["version"] = s.random.IntN(20)
	}
	if s.random.IntN(3) == 0 {
		fields["owners"] = []string{fmt.Sprint("o", s.random.IntN(5)), fmt.Sprint("o", s.random.IntN(5))}
	}
	switch s.random.IntN(12) {
	case 0:
		return []byte(fmt.Sprintf("no json %d", len(s.sent)))
	case 1:
		fields["item"] = nil
	case 2:
		delete(fields, "at")
	}
	body, err := json.Marshal(fields)
	require.NoError(s.t, err)
	return body
}

func (s *eventSource) parse(r event.Receipt, body []byte) (event.Parsed, error) {
	p, _ := s.catalogue.Lookup(r.Provider)
	return p.Parse(r, body)
}

// processSingle runs the steps of the event's own workflow.
func (s *eventSource) processSingle(d *database, r event.Receipt, body []byte) error {
	p, err := s.parse(r, body)
	if err != nil {
		return err
	}
	persisted, err := d.Writer.Write(s.t.Context(), event.RowOnly, r, body, p, runOf(r))
	if err != nil || persisted.Duplicate || p.Outcome == event.OutcomeIgnored {
		return err
	}
	return d.UpsertEntities(s.t.Context(), r, p, runOf(r))
}

// takeBatch returns how many events the batch had.
func (s *eventSource) takeBatch(d *database, limit int) int {
	b, err := d.Writer.ProcessBatch(s.t.Context(), limit, newBatchRun(), s.parse)
	require.NoError(s.t, err)
	require.LessOrEqual(s.t, len(b), limit)
	return len(b)
}

func newBatchRun() event.Run {
	return event.Run{WorkflowID: event.BatchWorkflowID(uuid.NewString()), RunID: uuid.NewString()}
}

// overflowOf returns the events that have left a batch.
func overflowOf(d *database) map[string]bool {
	left := map[string]bool{}
	rows, err := d.sql.Query(context.Background(), `SELECT event_id::text FROM inbox WHERE lane = 'overflow'`)
	require.NoError(d.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(d.t, err)
	for _, id := range ids {
		left[id] = true
	}
	return left
}

// rowsOf returns the rows of a query as text; the query gets the events to leave out.
func rowsOf(d *database, query string, without map[string]bool) (texts []string) {
	ids := []string{}
	for id := range without {
		ids = append(ids, id)
	}
	rows, err := d.sql.Query(context.Background(), query, ids)
	require.NoError(d.t, err)
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(d.t, err)
		text, err := json.Marshal(values)
		require.NoError(d.t, err)
		texts = append(texts, string(text))
	}
	require.NoError(d.t, rows.Err())
	return texts
}
