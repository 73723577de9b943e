package writer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/changes"
	"holdfast/persistence/entities"
	"holdfast/persistence/journal"
	"holdfast/persistence/names"
	"holdfast/persistence/postgres"
)

// Who passes a verdict holds the event's lock, and so does who writes an event: of the two, one comes first. A writer asks in the
// statements that write, which come after the one that locks.
const (
	selectVerdict = `
SELECT event_id::text, verdict, at, by, reason, coalesce(replaced_by::text, '') FROM verdicts WHERE event_id = $1::uuid`

	// An event that was expunged stays so.
	insertVerdict = `
INSERT INTO verdicts AS v (event_id, verdict, by, reason, replaced_by)
VALUES ($1::uuid, $2, $3, $4, nullif($5, '')::uuid)
    ON CONFLICT (event_id) DO UPDATE
   SET verdict = excluded.verdict, at = excluded.at, by = excluded.by, reason = excluded.reason,
       replaced_by = excluded.replaced_by
 WHERE v.verdict <> 'expunged'`

	// keepKey makes sure that a redelivery stays a duplicate, also of an event that nothing has run yet. A key whose window has
	// passed is claimed as an event claims it.
	keepKey = `
INSERT INTO idempotency_keys AS held (provider, key, event_id, first_seen, expires_at, fingerprint)
VALUES ($1, $2, $3, $4, CASE WHEN $5::interval > interval '0' THEN $4::timestamptz + $5::interval END, nullif($6, ''))
    ON CONFLICT (provider, key) DO UPDATE
   SET event_id = excluded.event_id, first_seen = excluded.first_seen, expires_at = excluded.expires_at,
       fingerprint = excluded.fingerprint
 WHERE held.event_id <> excluded.event_id AND ` + passedWindow

	linksToTake = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, provider
  FROM event_entities WHERE event_id = $1::uuid`

	judgedWithLinks = `
SELECT event_id::text FROM verdicts AS v WHERE EXISTS (SELECT FROM event_entities AS l WHERE l.event_id = v.event_id)
 ORDER BY event_id`
)

// Verdict is what an operator has decided about an event. Event.ErrNotFound: nothing.
func (s *Store) Verdict(ctx context.Context, eventID string) (event.Verdict, error) {
	var verdict *event.VerdictError
	err := s.refused(ctx, eventID, event.ErrNotFound)
	if errors.As(err, &verdict) {
		return verdict.Verdict, nil
	}
	return event.Verdict{}, postgres.Failure("read verdict on event "+postgres.Clean(eventID), err)
}

// QueueVerdict reads the verdict on an event; nil if there is none.
func QueueVerdict(b *pgx.Batch, eventID string, into **event.Verdict) {
	b.Queue(selectVerdict, eventID).Query(func(rows pgx.Rows) error {
		var v event.Verdict
		columns := []any{&v.EventID, &v.Outcome, &v.At, &v.By, &v.Reason, &v.ReplacedBy}
		_, err := pgx.ForEachRow(rows, columns, func() error {
			v.At = v.At.UTC()
			*into = &v
			return nil
		})
		return err
	})
}

// refused is why an event was not written: the verdict on it, or else the other reason.
func (s *Store) refused(ctx context.Context, eventID string, otherwise error) error {
	var v *event.Verdict
	b := &pgx.Batch{}
	QueueVerdict(b, eventID, &v)
	if err := s.db.SendOnly(ctx, b); err != nil {
		return err
	}
	if v != nil {
		return &event.VerdictError{Verdict: *v}
	}
	return otherwise
}

// VerdictBy is an operator's verdict on an event.
func VerdictBy(by oversight.Actor, eventID string, outcome event.Outcome) event.Verdict {
	return event.Verdict{
		EventID: eventID, Outcome: outcome, By: postgres.Clip(postgres.Clean(cmp.Or(by.Name, "unknown")), journal.MaxAuditName),
		Reason: postgres.Clip(postgres.Clean(by.Reason), journal.MaxAuditReason),
	}
}

// Pass passes a verdict: it takes back what the event did to entities, and keeps the keys of its receipts. The transaction holds
// the event's lock. It takes the keys before the entities, as writers do.
func Pass(
	ctx context.Context, s *Store, t *postgres.Transaction, v event.Verdict, receipts ...event.Receipt,
) (taken Effects, err error) {
	b := &pgx.Batch{}
	for _, r := range receipts {
		b.Queue(keepKey, postgres.Clean(r.Provider), postgres.Clean(r.Key), v.EventID, r.ReceivedAt, time.Duration(r.DedupeWindow),
			postgres.Clean(r.Fingerprint))
	}
	b.Queue(insertVerdict, v.EventID, string(v.Outcome), v.By, v.Reason, v.ReplacedBy)
	changes.Queue(b, tellVerdict(v, receipts))
	if err := t.Send(ctx, b); err != nil {
		return taken, err
	}
	return s.takeBack(ctx, t, v.EventID)
}

// Effects are what an event did to entities.
type Effects struct {
	Changes  int64
	Entities int
}

// Detail is what the audit log keeps of them.
func (e Effects) Detail() map[string]any {
	return map[string]any{"changes": e.Changes, "entities": e.Entities}
}

// takeBack removes the changes of an event, and folds their entities again without them.
func (s *Store) takeBack(ctx context.Context, t *postgres.Transaction, eventID string) (taken Effects, err error) {
	held, all, err := holdLinked(ctx, t, eventID)
	if err != nil || len(all) == 0 {
		return taken, err
	}
	for _, of := range all {
		taken.Changes += int64(len(of.Gone))
	}
	taken.Entities = len(all)
	b := &pgx.Batch{}
	b.Queue(deleteLinks, []string{eventID})
	told, err := s.entities.Fold(ctx, t, b, all, held, 0) // it makes none
	if err != nil {
		return taken, err
	}
	changes.Queue(b, told)
	names.QueueForget(b, entities.SortedRefs(all))
	return taken, t.Send(ctx, b)
}

// holdLinked locks the entities that an event is linked to. A merge may move the links while it waits: then it locks once more.
func holdLinked(
	ctx context.Context, t *postgres.Transaction, eventID string,
) (held map[event.EntityRef]*entities.Life, all entities.Touches, err error) {
	held = map[event.EntityRef]*entities.Life{}
	for range maxRaces {
		all = entities.Touches{}
		b := &pgx.Batch{}
		queueSettings(b, ofStore)
		names.QueueLocksOfEvent(b, eventID)
		entities.QueueLocks(b, entities.Needs{}, []string{eventID}, held)
		b.Queue(linksToTake, eventID).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var provider string
				l, err := entities.ScanOrdered(rows, &provider)
				if err != nil {
					return err
				}
				of := all.Of(event.EntityRef{Provider: provider, Kind: l.Change.Kind, ExternalID: l.Change.ExternalID})
				of.Gone = append(of.Gone, l)
			}
			return rows.Err()
		})
		if err := t.Send(ctx, b); err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(entities.SortedRefs(all), func(ref event.EntityRef) bool { return held[ref] == nil }) {
			break
		}
	}
	return held, all, nil
}

// EnforceVerdicts takes back what events with a verdict have left on entities, and says how many there were: the verdict of such
// an event is from before there were verdicts.
func (s *Store) EnforceVerdicts(ctx context.Context) (n int, err error) {
	const doing = "enforce verdicts"
	ids, err := pgx.CollectRows(s.db.Rows(ctx, judgedWithLinks), pgx.RowTo[string])
	if err != nil {
		return 0, postgres.Failure(doing, err)
	}
	for _, id := range ids {
		if err := s.enforce(ctx, id); err != nil {
			return n, postgres.Failure(doing, err)
		}
		n++
	}
	return n, nil
}

func (s *Store) enforce(ctx context.Context, eventID string) error {
	b := &pgx.Batch{}
	b.Queue(postgres.EventLock, eventID)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := s.takeBack(ctx, tx, eventID); err != nil {
		return err
	}
	return tx.Commit(ctx, &pgx.Batch{})
}
