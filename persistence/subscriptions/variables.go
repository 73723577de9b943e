package subscriptions

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

const (
	// listVariables returns as many rows as destinations name variables: a handful.
	listVariables = `SELECT name FROM destination_variables`

	isListed = `SELECT true FROM destination_variables WHERE name = $1`

	addVariable = `INSERT INTO destination_variables (name, added_by) VALUES ($1, $2)`

	// namedVariable is the variable that a destination d names, whatever its kind.
	namedVariable = `coalesce(d.settings -> 'http', d.settings -> 'nats', d.settings -> 'rabbitmq', d.settings -> 'kafka',
       d.settings -> 's3', d.settings -> 'sqs', d.settings -> 'pubsub') ->> 'secrets'`

	// forgetVariables unlists variables that no destination names any more.
	forgetVariables = `
DELETE FROM destination_variables AS v
 WHERE NOT EXISTS (SELECT FROM destinations AS d WHERE d.deleted_at IS NULL AND ` + namedVariable + ` = v.name)`

	namedVariables = `
SELECT d.name, ` + namedVariable + `, v.name IS NOT NULL
  FROM destinations AS d LEFT JOIN destination_variables AS v ON v.name = ` + namedVariable + `
 WHERE d.deleted_at IS NULL AND ` + namedVariable + ` <> ''
 ORDER BY d.name`
)

func variableOf(d delivery.Destination) string {
	link := d.Link()
	if link == nil {
		return ""
	}
	return link.Secrets
}

// newVariable returns the variable that a change lists: one that an admin names now. A name that the destination has already,
// without being listed, was written by another version, or in SQL; an admin who applies it lists it.
func (s *Store) newVariable(d delivery.Destination, f *current, actor oversight.Actor) (string, error) {
	name := variableOf(d)
	if name == "" || f.isListed || !actor.IsAdmin() {
		return "", nil
	}
	if err := delivery.CheckVariable(d.Kind(), name); err != nil {
		return "", err
	}
	if s.cfg.Reserved != nil && s.cfg.Reserved(name) {
		return "", event.Rejectf("invalid_destination",
			"%s.secrets: %s configures Holdfast itself, so no destination may use it", d.Kind(), name)
	}
	return name, nil
}

// queueVariable lists a variable, which the audit entry of the change says, and unlists those that are no longer named.
func queueVariable(b *pgx.Batch, name string, actor oversight.Actor, detail map[string]any) {
	if name != "" {
		b.Queue(addVariable, name, actor.Name)
		detail["variable"] = name
	}
	b.Queue(forgetVariables)
}

// NamedVariable is an environment variable that contains the secrets of a destination.
type NamedVariable struct {
	Destination, Name string
	// IsListed: an unlisted variable isn't resolved.
	IsListed bool
}

// NamedVariables returns the variables of all destinations, by destination.
func (s *Store) NamedVariables(ctx context.Context) ([]NamedVariable, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, namedVariables), pgx.RowToStructByPos[NamedVariable])
	return all, postgres.Failure("list variables of destinations", err)
}
