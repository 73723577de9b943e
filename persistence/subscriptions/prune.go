package subscriptions

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

// prunedAtOnce bounds the rows of one transaction of a prune, since other changes wait for its end.
const prunedAtOnce = 500

const (
	pruneSubscriptions = removeSubscriptions + ` WHERE deleted_at IS NULL AND name = ANY ($1::text[]) RETURNING name, destination_id`
	pruneDestinations  = removeDestinations + ` WHERE deleted_at IS NULL AND name = ANY ($1::text[]) RETURNING name, id`

	// destinationsInUse finds a destination that can't be deleted.
	destinationsInUse = `
SELECT d.name, s.name FROM destinations AS d JOIN subscriptions AS s ON s.destination_id = d.id AND s.deleted_at IS NULL
 WHERE d.deleted_at IS NULL AND d.name = ANY ($1::text[]) LIMIT 1`

	awaitDirectOf = `
SELECT FROM destination_states WHERE destination_id = ANY ($1::bigint[]) ORDER BY destination_id FOR UPDATE`
)

// DeleteSubscriptions removes subscriptions by name, some hundred in a transaction, and cancels their open deliveries when all
// are removed. It skips unknown names, and keeps destinations. Its work is linear in the number of names, while
// DeleteSubscription looks for open deliveries of all deleted subscriptions each time.
func (s *Store) DeleteSubscriptions(ctx context.Context, names []string, by oversight.Actor) error {
	err := s.prune(ctx, names, func(b *pgx.Batch, some []string, version int64, found *[]pruned) {
		b.Queue(pruneSubscriptions, some, version).Query(collectPruned(found))
	}, by.Did(oversight.AuditSubscriptionDelete, "subscription", nil))
	s.outbox.CancelAllDeleted(ctx)
	return postgres.Failure("delete subscriptions", err)
}

// DeleteDestinations removes destinations by name, some hundred in a transaction, with their secrets. It skips unknown names. If
// one has a subscription, the error is an event.Error of class rejected and code "destination_in_use".
func (s *Store) DeleteDestinations(ctx context.Context, names []string, by oversight.Actor) error {
	err := s.prune(ctx, names, func(b *pgx.Batch, some []string, version int64, found *[]pruned) {
		b.Queue(destinationsInUse, some).Query(func(rows pgx.Rows) error {
			var destination, subscription string
			_, err := pgx.ForEachRow(rows, []any{&destination, &subscription}, func() error {
				return event.Rejectf("destination_in_use", "subscriptions go to %s: %s", destination, subscription)
			})
			return err
		})
		b.Queue(pruneDestinations, some, version).Query(collectPruned(found))
		b.Queue(forgetVariables)
	}, by.Did(oversight.AuditDestinationDelete, "destination", nil))
	return postgres.Failure("delete destinations", err)
}

// removal queues what removes rows by name, and reads what was found.
type removal func(b *pgx.Batch, names []string, version int64, found *[]pruned)

// pruned is a removed row, with the ID of the destination.
type pruned struct {
	Name          string
	DestinationID int64
}

func collectPruned(into *[]pruned) func(pgx.Rows) error {
	return postgres.Collect(into, pgx.RowToStructByPos[pruned])
}

// prune removes rows by name, in parts. did is an audit entry of one, with its kind as the object.
func (s *Store) prune(ctx context.Context, names []string, remove removal, did oversight.AuditEntry) error {
	cleaned := postgres.Column(names, postgres.Clean)
	for some := range slices.Chunk(cleaned, prunedAtOnce) {
		if err := s.pruneSome(ctx, some, remove, did); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pruneSome(ctx context.Context, names []string, remove removal, did oversight.AuditEntry) error {
	c, err := s.beginChange(ctx, func(*pgx.Batch) {})
	if err != nil {
		return err
	}
	defer c.Rollback(ctx)
	var found []pruned
	b := &pgx.Batch{}
	remove(b, names, c.version, &found)
	if err := c.Send(ctx, b); err != nil {
		return err
	}
	b = &pgx.Batch{}
	b.Queue(awaitDirectOf, postgres.Column(found, func(p pruned) int64 { return p.DestinationID }))
	audit.QueueEach(b, did, postgres.Column(found, func(p pruned) string { return auditObject(did.Object, p.Name) }))
	return c.Commit(ctx, b)
}
