package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	destinationColumns = `SELECT id, name, settings, version, secrets, headers, client_key, deleted_at IS NOT NULL FROM destinations`

	selectDestinations = destinationColumns + ` WHERE deleted_at IS NULL AND name > $1 ORDER BY name LIMIT $2`

	selectDestinationsOf = destinationColumns + ` WHERE deleted_at IS NULL AND id = ANY ($1)`

	// A destination whose name equals the number of another one is found by its name.
	selectDestination = destinationColumns + ` WHERE deleted_at IS NULL AND (name = $1 OR id = $2) ORDER BY name = $1 DESC LIMIT 1`

	sameDestination = `SELECT settings = $2::jsonb FROM destinations WHERE deleted_at IS NULL AND name = $1`

	insertDestination = `
INSERT INTO destinations (name, settings, secrets, version, headers, client_key)
VALUES ($1, $2::jsonb, $3, $4, $5, $6) RETURNING id`

	updateDestination = `
UPDATE destinations
   SET settings = $2::jsonb, secrets = $3, version = $4, headers = $5, client_key = $6, changed_at = clock_timestamp(),
       secrets_at = CASE WHEN secrets IS DISTINCT FROM $3 THEN clock_timestamp() ELSE secrets_at END
 WHERE id = $1`

	// reconsider makes the destination due, since its limits may have changed.
	reconsider = `
INSERT INTO destination_states AS s (destination_id) VALUES ($1)
    ON CONFLICT (destination_id) DO UPDATE SET next_at = least(s.next_at, clock_timestamp()) WHERE s.held <> 'open'`

	// awaitDirect waits for transactions that lease a delivery with the present settings (lockFit in package outbox), and makes
	// later ones use the queue.
	awaitDirect = `SELECT FROM destination_states WHERE destination_id = $1 FOR UPDATE`

	// removeDestinations removes secrets, header values and keys, and keeps names for the ended deliveries.
	removeDestinations = `
UPDATE destinations
   SET deleted_at = clock_timestamp(), changed_at = clock_timestamp(), secrets = NULL, headers = NULL, client_key = NULL,
       version = $2`
	deleteDestination = removeDestinations + ` WHERE id = $1`

	// subscriptionsOf bounds how many names an error lists.
	subscriptionsOf = `
SELECT name FROM subscriptions WHERE destination_id = $1 AND deleted_at IS NULL ORDER BY name LIMIT 5`
)

// ApplyDestination creates a destination, or changes the one of that name, and returns its new state. Secrets are replaced, or
// kept if they are nil. If nothing changes, nothing is written. The error is an event.Error of class rejected if the destination
// is invalid, or doesn't fit one of its subscriptions: codes "invalid_destination" and "invalid_subscription".
func (s *Store) ApplyDestination(
	ctx context.Context, d delivery.Destination, secrets []delivery.Secret, actor oversight.Actor,
) (_ delivery.Destination, err error) {
	defer postgres.Annotate(&err, "apply destination "+postgres.Clip(postgres.Clean(d.Name), 100))
	if err := d.Check(); err != nil {
		return d, err
	}
	settings, err := d.Settings()
	if err != nil {
		return d, event.Rejectf("invalid_destination", "it cannot be written as JSON")
	}
	stored := &current{}
	c, err := s.beginChange(ctx, func(b *pgx.Batch) { stored.queue(b, d, string(settings)) })
	if err != nil {
		return d, err
	}
	defer c.Rollback(ctx)
	stored.isOf(d.Name)
	if err := stored.permit(d, secrets != nil, actor); err != nil {
		return d, err
	}
	headers, sameHeaders, err := s.headersFor(d, stored.before)
	if err != nil {
		return d, err
	}
	key, sameKey, err := s.keyFor(d, stored.before)
	if err != nil {
		return d, err
	}
	variable, err := s.newVariable(d, stored, actor)
	if err != nil {
		return d, err
	}
	if stored.same && sameHeaders && sameKey && secrets == nil && variable == "" {
		return stored.before.Destination, stored.before.err
	}
	if err := delivery.CheckVersion(d.Version, stored.version()); err != nil {
		return d, err
	}
	d.Version = c.version
	sealed := sealedSecrets{headers: headers, key: key}
	if sealed.secrets, err = s.sealFor(d, stored.before, secrets); err != nil {
		return d, err
	}
	if d.ID, err = c.store(ctx, d, stored.before, string(settings), sealed); err != nil {
		return d, err
	}
	detail := map[string]any{"version": c.version, "new": stored.before == nil, "kind": d.Kind(), "secrets": secrets != nil}
	noteKey(detail, key, sameKey)
	b := &pgx.Batch{}
	b.Queue(reconsider, d.ID)
	queueVariable(b, variable, actor, detail)
	audit.Queue(b,
		actor.Did(oversight.AuditDestinationApply, auditObject("destination", d.Name), audit.DetailOf(detail)))
	if err := c.Commit(ctx, b); err != nil {
		return d, err
	}
	s.outbox.Signal()
	return d.Shown(), nil
}

// noteKey says in an audit entry that the client key was replaced or removed.
func noteKey(detail map[string]any, key []byte, isSame bool) {
	if !isSame {
		detail["client_key"] = len(key) > 0
	}
}

// current holds what the transaction that changes a destination has read.
type current struct {
	before *destination
	// same: the settings don't change; isListed: the variable that they name is listed.
	same, isListed bool
}

func (c *current) queue(b *pgx.Batch, d delivery.Destination, settings string) {
	queueDestination(b, d.Name, &c.before)
	b.Queue(sameDestination, d.Name, settings).Query(firstInto(&c.same))
	b.Queue(isListed, variableOf(d)).Query(firstInto(&c.isListed))
}

// isOf drops a destination whose number, not name, equals the name.
func (c *current) isOf(name string) {
	if c.before != nil && c.before.Name != name {
		c.before, c.same = nil, false
	}
}

// version returns the version of the stored destination; 0 if there is none.
func (c *current) version() int64 {
	if c.before == nil {
		return 0
	}
	return c.before.Version
}

func (c *current) permit(d delivery.Destination, givesSecret bool, actor oversight.Actor) error {
	if actor.IsAdmin() {
		return nil
	}
	var was *delivery.Destination
	if c.before != nil {
		was = &c.before.Destination
		hasNone := len(c.before.secrets) == 0 || was.Kind() != d.Kind() // another kind doesn't get them
		givesSecret = givesSecret || d.HTTP == nil && hasNone
	}
	return delivery.CheckChange(was, d, givesSecret)
}

// sealedSecrets are what is stored encrypted: signing secrets, header values, and the key of the client certificate.
type sealedSecrets struct{ secrets, headers, key []byte }

func (c *change) store(
	ctx context.Context, d delivery.Destination, before *destination, settings string, sealed sealedSecrets,
) (id int64, err error) {
	b := &pgx.Batch{}
	if before == nil {
		b.Queue(insertDestination, d.Name, settings, sealed.secrets, c.version, sealed.headers, sealed.key).QueryRow(
			func(row pgx.Row) error { return row.Scan(&id) })
		return id, c.Send(ctx, b)
	}
	d.ID = before.ID
	if err := c.checkSubscriptionsOf(ctx, d); err != nil {
		return d.ID, err
	}
	b.Queue(updateDestination, d.ID, settings, sealed.secrets, c.version, sealed.headers, sealed.key)
	return d.ID, c.Send(ctx, b)
}

// auditObject names the changed object for the audit log.
func auditObject(kind, name string) string { return kind + ":" + name }

// change is a transaction that changes a destination or a subscription. Such transactions run one at a time.
type change struct {
	*postgres.Transaction

	version int64
}

// beginChange raises the version, and then runs the first statements.
func (s *Store) beginChange(ctx context.Context, first func(*pgx.Batch)) (*change, error) {
	c := &change{}
	b := &pgx.Batch{}
	b.Queue(raiseHead).QueryRow(func(row pgx.Row) error { return row.Scan(&c.version) })
	first(b)
	var err error
	c.Transaction, err = s.db.Begin(ctx, b)
	return c, err
}

// checkSubscriptionsOf checks that the form of each of its subscriptions fits a destination.
func (c *change) checkSubscriptionsOf(ctx context.Context, d delivery.Destination) error {
	b := &pgx.Batch{}
	var all []delivery.Subscription
	b.Queue(subscriptionsTo, d.ID).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var s delivery.Subscription
			var gone bool
			unreadable, err := scanSubscription(rows, &s, &gone)
			if err != nil {
				return err
			}
			if unreadable == nil {
				all = append(all, s)
			}
		}
		return rows.Err()
	})
	if err := c.Send(ctx, b); err != nil {
		return err
	}
	for _, s := range all {
		if err := s.CheckFor(d); err != nil {
			return fmt.Errorf("subscription %s: %w", s.Name, err)
		}
	}
	return nil
}

// firstInto scans the value of the first row, if there is one.
func firstInto[T any](v *T) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		all, err := pgx.CollectRows(rows, pgx.RowTo[T])
		if len(all) > 0 {
			*v = all[0]
		}
		return err
	}
}

// number parses an ID, and returns 0 if the text is none.
func number(nameOrID string) int64 {
	id, err := strconv.ParseInt(nameOrID, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func queueDestination(b *pgx.Batch, nameOrID string, into **destination) {
	b.Queue(selectDestination, postgres.Clean(nameOrID), number(nameOrID)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			d, gone := &destination{}, false
			if err := scanDestination(rows, d, &gone); err != nil {
				return err
			}
			*into = d
		}
		return rows.Err()
	})
}

// scanDestination doesn't fail on unreadable settings; code that needs them checks err.
func scanDestination(row pgx.Row, d *destination, gone *bool) error {
	var id, version int64
	var name string
	var settings []byte
	if err := row.Scan(&id, &name, &settings, &version, &d.secrets, &d.headers, &d.clientKey, gone); err != nil {
		return err
	}
	if json.Unmarshal(settings, &d.Destination) != nil {
		d.Destination, d.err = delivery.Destination{}, &event.Error{
			Class: event.ClassFailed, Code: delivery.CodeUnreadable, Text: "this version cannot read destination " + name,
		}
	}
	d.ID, d.Name, d.Version = id, name, version
	d.maskHeaders()
	return nil
}

// Destination returns a destination by its name or number.
func (s *Store) Destination(ctx context.Context, nameOrID string) (delivery.Destination, error) {
	d, err := s.destination(ctx, nameOrID)
	return d.Destination, postgres.Failure("read destination "+postgres.Clip(postgres.Clean(nameOrID), 100), err)
}

func (s *Store) destination(ctx context.Context, nameOrID string) (destination, error) {
	var d *destination
	b := &pgx.Batch{}
	queueDestination(b, nameOrID, &d)
	if err := s.db.SendRead(ctx, b); err != nil {
		return destination{}, err
	}
	if d == nil {
		return destination{}, event.ErrNotFound
	}
	return *d, d.err
}

// Destinations returns all of them, by name. One that this version can't read has only its name.
func (s *Store) Destinations(ctx context.Context) ([]delivery.Destination, error) {
	return s.DestinationsAfter(ctx, "", math.MaxInt32)
}

// DestinationsAfter returns a page of Destinations: those after a name, up to limit.
func (s *Store) DestinationsAfter(ctx context.Context, name string, limit int) ([]delivery.Destination, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, selectDestinations, postgres.Clean(name), limit), rowToDestination)
	return all, postgres.Failure("list destinations", err)
}

// DestinationsOf returns the destinations with these IDs that aren't deleted, by ID.
func (s *Store) DestinationsOf(ctx context.Context, ids []int64) (map[int64]delivery.Destination, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, selectDestinationsOf, ids), rowToDestination)
	by := make(map[int64]delivery.Destination, len(all))
	for _, d := range all {
		by[d.ID] = d
	}
	return by, postgres.Failure("list destinations by ID", err)
}

func rowToDestination(row pgx.CollectableRow) (delivery.Destination, error) {
	var d destination
	var gone bool
	err := scanDestination(row, &d, &gone)
	return d.Destination, err
}

// DeleteDestination removes a destination without subscriptions, and its secrets. A destination with subscriptions is refused
// with an event.Error of class rejected and code "destination_in_use".
func (s *Store) DeleteDestination(ctx context.Context, nameOrID string, actor oversight.Actor) (err error) {
	defer postgres.Annotate(&err, "delete destination "+postgres.Clip(postgres.Clean(nameOrID), 100))
	var d *destination
	c, err := s.beginChange(ctx, func(b *pgx.Batch) { queueDestination(b, nameOrID, &d) })
	if err != nil {
		return err
	}
	defer c.Rollback(ctx)
	if d == nil {
		return event.ErrNotFound
	}
	var names []string
	b := &pgx.Batch{}
	b.Queue(subscriptionsOf, d.ID).Query(postgres.Collect(&names, pgx.RowTo[string]))
	if err := c.Send(ctx, b); err != nil {
		return err
	}
	if len(names) > 0 {
		return event.Rejectf("destination_in_use", "subscriptions go to it: %s", strings.Join(names, ", "))
	}
	b = &pgx.Batch{}
	b.Queue(deleteDestination, d.ID, c.version)
	b.Queue(awaitDirect, d.ID)
	b.Queue(forgetVariables)
	audit.Queue(b, actor.Did(oversight.AuditDestinationDelete, auditObject("destination", d.Name), nil))
	return c.Commit(ctx, b)
}

// now returns the time to which the ends of secrets are compared.
func now() time.Time { return time.Now().UTC() }
