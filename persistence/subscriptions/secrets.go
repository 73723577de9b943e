package subscriptions

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/postgres"
)

const (
	updateSecrets = `
UPDATE destinations
   SET secrets = $2, version = $3, changed_at = clock_timestamp(), secrets_at = clock_timestamp() WHERE id = $1`

	secretsOfID = `SELECT secrets FROM destinations WHERE id = $1 AND deleted_at IS NULL`

	maxSecrets = 10
	maxSecret  = 4 << 10 // in bytes
	// isSealed is the first byte of encrypted secrets. JSON never begins with it.
	isSealed = 0
)

// RotateSecret makes a secret the first one of an endpoint. The earlier ones stay valid for the grace period; without one they
// are removed immediately. The error is an event.Error of class rejected if there is nothing to rotate.
func (s *Store) RotateSecret(
	ctx context.Context, nameOrID string, secret delivery.Secret, grace time.Duration, actor oversight.Actor,
) (err error) {
	defer postgres.Annotate(&err, "rotate secret of destination "+postgres.Clip(postgres.Clean(nameOrID), 100))
	var d *destination
	c, err := s.beginChange(ctx, func(b *pgx.Batch) { queueDestination(b, nameOrID, &d) })
	if err != nil {
		return err
	}
	defer c.Rollback(ctx)
	if d == nil {
		return event.ErrNotFound
	}
	if d.err != nil {
		return d.err
	}
	known, err := s.open(d.secrets)
	if err != nil {
		return err
	}
	end := now().Add(grace)
	all := []delivery.Secret{{Value: secret.Value}}
	for _, old := range inUse(known, now()) {
		if old.Value == secret.Value {
			return event.Rejectf("same_secret", "the destination has this secret already")
		}
		if old.Until == nil || old.Until.After(end) {
			old.Until = &end
		}
		if grace > 0 {
			all = append(all, old)
		}
	}
	sealed, err := s.sealFor(d.Destination, d, all)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(updateSecrets, d.ID, sealed, c.version)
	b.Queue(awaitDirect, d.ID)
	audit.Queue(b, actor.Did(oversight.AuditDestinationRotate, auditObject("destination", d.Name),
		audit.DetailOf(map[string]any{"grace": event.Duration(grace), "in_use": len(all)})))
	return c.Commit(ctx, b)
}

// SecretsOf returns the valid secrets that the API has generated or received, newest first.
func (s *Store) SecretsOf(ctx context.Context, destinationID int64) ([]delivery.Secret, error) {
	const doing = "read secrets of a destination"
	var stored []byte
	if err := s.db.QueryRow(ctx, secretsOfID, destinationID).Scan(&stored); err != nil {
		return nil, postgres.Failure(doing, err)
	}
	all, err := s.open(stored)
	return inUse(all, now()), postgres.Failure(doing, err)
}

func inUse(all []delivery.Secret, at time.Time) []delivery.Secret {
	return slices.DeleteFunc(slices.Clone(all), func(one delivery.Secret) bool { return one.Until != nil && !one.Until.After(at) })
}

// sealFor returns the secrets of a destination as they are stored: its earlier ones if none are given.
func (s *Store) sealFor(d delivery.Destination, before *destination, secrets []delivery.Secret) ([]byte, error) {
	if secrets == nil {
		if before == nil || before.err == nil && before.Kind() != d.Kind() { // a password isn't a signing secret
			return nil, nil
		}
		return before.secrets, nil
	}
	switch {
	case len(secrets) == 0:
		return nil, nil
	case d.Link() == nil:
		return nil, event.Rejectf("no_secrets", "a destination of kind temporal has no secrets: its profile has")
	case d.Link().Secrets != "":
		return nil, event.Rejectf("secrets_of_variable", "its secrets are those of a variable: change them there")
	case len(secrets) > maxSecrets:
		return nil, event.Rejectf("too_many_secrets", "%d secrets at once are too many: %d can be", len(secrets), maxSecrets)
	}
	for _, one := range secrets {
		if one.Value == "" || len(one.Value) > maxSecret {
			return nil, event.Rejectf("invalid_secret", "a secret has 1 to %d bytes", maxSecret)
		}
	}
	return s.seal(secrets)
}

// seal and unseal hide the texts of errors, which may reveal something of a secret.
func (s *Store) seal(v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil || s.cfg.Sealer == nil {
		return plain, err
	}
	sealed, err := s.cfg.Sealer.Seal(plain)
	if err != nil {
		return nil, &event.Error{Class: event.ClassFailed, Code: "not_sealed", Text: "the secrets could not be encrypted"}
	}
	return append([]byte{isSealed}, sealed...), nil
}

func (s *Store) unseal(stored []byte, into any) (err error) {
	if len(stored) == 0 {
		return nil
	}
	if stored[0] == isSealed {
		if s.cfg.Sealer == nil {
			return errSealed
		}
		if stored, err = s.cfg.Sealer.Open(stored[1:]); err != nil {
			return errSealed
		}
	}
	if json.Unmarshal(stored, into) != nil {
		return errSealed
	}
	return nil
}

func (s *Store) open(stored []byte) (secrets []delivery.Secret, err error) {
	err = s.unseal(stored, &secrets)
	return secrets, err
}

var errSealed = &event.Error{
	Class: event.ClassFailed, Code: "unreadable_secrets",
	Text: "the secrets cannot be decrypted: the payload key that they were stored with is not configured",
}
