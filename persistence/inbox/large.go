package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/lanes"
	"holdfast/persistence/postgres"
)

const (
	keepLarge = `
INSERT INTO inbox (workflow_id, event_id, lane, provider, receipt, raw_body, reject, received_at, due_at)
VALUES ($1, $2::uuid, 'large', $3, $4, $5, $6, $7, now() + $8::interval)
    ON CONFLICT (workflow_id, dedupe_from) DO NOTHING`

	// removeStored removes the row of a large event once its body, or the body of the event it repeats, is stored elsewhere.
	removeStored = `
DELETE FROM inbox WHERE workflow_id = $1 AND event_id = $2::uuid
   AND EXISTS (
       SELECT FROM unnest($3::uuid[]) AS stored (id)
        WHERE EXISTS (SELECT FROM events WHERE id = stored.id OFFSET 0)
           OR EXISTS (SELECT FROM dead_letters WHERE event_id = stored.id AND subscription_id = 0 OFFSET 0)
           OR EXISTS (SELECT FROM decisions WHERE event_id = stored.id OFFSET 0))`

	// maxLargePause is the pause before the drain checks a row again.
	maxLargePause = time.Hour
)

// KeepLarge commits the body of a large event, in a transaction of its own: Temporal gets only the receipt. The drain starts the
// event after delay, if no run has stored it by then. Stored is false if the inbox has a body of this event already, which may
// be another one: then only the drain may start the event.
func (w *InboxWriter) KeepLarge(
	ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration,
) (stored bool, err error) {
	receipt, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("encode receipt: %w", err)
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(keepLarge, event.LargeRow(r.ID), r.ID, postgres.Clean(r.Provider), receipt, postgres.Bytea(body), rejectRedelivery,
		r.ReceivedAt, delay).Exec(func(done pgconn.CommandTag) error { stored = done.RowsAffected() == 1; return nil })
	return stored, postgres.Failure("keep body of event "+postgres.Clean(r.ID), w.db.SendOnly(ctx, b))
}

// LargeBody returns the body of a large event: from the inbox, from the event's row or from its dead letter.
func (s *Store) LargeBody(ctx context.Context, r event.Receipt) (body []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT `+lanes.LargeBodyOf("$1", "$2"), r.Large.ID, r.ID).Scan(&body)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return nil, postgres.Failure("read body of event "+postgres.Clean(r.ID), err)
	case !r.Large.Is(body):
		return nil, event.Rejectf(event.CodeBodyLost, "%s", r.Large.LostText())
	}
	return body, nil
}

// EventBody returns the body of an event that is stored, or is a dead letter; nil if PostgreSQL doesn't have it.
func (s *Store) EventBody(ctx context.Context, id string) (body []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT `+lanes.LargeBodyOf("$1", "$2"), id, id).Scan(&body)
	return body, postgres.Failure("read body of event "+postgres.Clean(id), err)
}

// settleLarge postpones the row of a large event, and removes it if its event is stored.
func settleLarge(b *pgx.Batch, row waiting, s event.StartOutcome) {
	retry, why := s.Retry, s.Error
	if retry <= 0 {
		retry, why = maxLargePause, row.LastError
	}
	b.Queue(postponeInbox, row.workflowID, postgres.Clip(postgres.Clean(why), deadletters.MaxMessage), retry, row.Receipt.ID)
	ids := []string{row.Receipt.ID}
	if s.Owner != "" {
		ids = append(ids, s.Owner)
	}
	b.Queue(removeStored, row.workflowID, row.Receipt.ID, ids)
}
