package deadletters

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	keepAccepted = `
INSERT INTO accepted_events (event_id, run_id, receipt)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[]::json[])
ON CONFLICT (event_id) DO UPDATE SET run_id = excluded.run_id, receipt = excluded.receipt`

	selectAccepted = `
SELECT event_id::text, run_id, receipt FROM accepted_events
 WHERE checked_at < $1 ORDER BY checked_at, accepted_events.event_id LIMIT $2`

	forgetAccepted = `DELETE FROM accepted_events WHERE event_id = ANY ($1::uuid[])`

	checkAccepted = `UPDATE accepted_events SET checked_at = clock_timestamp() WHERE event_id = ANY ($1::uuid[])`
)

// KeepAccepted stores the receipts of those accepted events that the database doesn't have in any form.
func (s *Store) KeepAccepted(ctx context.Context, accepted []event.Acknowledged) (kept int, err error) {
	ids := postgres.Column(accepted, func(a event.Acknowledged) string { return a.Receipt.ID })
	gone, err := s.Gone(ctx, ids)
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	var eventIDs, runIDs, receipts []string
	for _, a := range accepted {
		if !gone[a.Receipt.ID] {
			continue
		}
		delete(gone, a.Receipt.ID) // an event is stored once, even if it was accepted twice
		receipt, err := postgres.ReceiptColumn(a.Receipt)
		if err != nil {
			return 0, postgres.Failure("keep receipt of event "+a.Receipt.ID, err)
		}
		eventIDs, runIDs = append(eventIDs, a.Receipt.ID), append(runIDs, postgres.Clean(a.RunID))
		receipts = append(receipts, receipt)
	}
	b := &pgx.Batch{}
	b.Queue(keepAccepted, eventIDs, runIDs, receipts)
	return len(eventIDs), postgres.Failure("keep receipts", s.db.SendOnly(ctx, b))
}

// Accepted returns up to n kept receipts that no sweep has checked since a time, those unchecked for longest first.
func (s *Store) Accepted(ctx context.Context, before time.Time, n int) (found []event.Acknowledged, err error) {
	rows := s.db.Rows(ctx, selectAccepted, before, n)
	found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a event.Acknowledged, err error) {
		var id string
		if err = row.Scan(&id, &a.RunID, &a.Receipt); err == nil {
			a.Receipt.ID = id
		}
		return a, err
	})
	return found, postgres.Failure("list receipts", err)
}

// SettleAccepted removes the receipts of events that are recorded, and marks others as checked.
func (s *Store) SettleAccepted(ctx context.Context, recorded, open []string) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(forgetAccepted, recorded)
	b.Queue(checkAccepted, open)
	return postgres.Failure("settle receipts", s.db.SendOnly(ctx, b))
}
