package entities

import (
	"context"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// entityNamed selects the entity that a name stands for, and its other names.
const entityNamed = `
SELECT e.external_id, ARRAY (
       SELECT name FROM entity_names WHERE provider = $1 AND kind = $2 AND external_id = e.external_id ORDER BY name LIMIT $4)
  FROM (SELECT coalesce((SELECT external_id FROM entity_names WHERE provider = $1 AND kind = $2 AND name = $3), $3::text)
            AS external_id) AS e`

// Named resolves any name of an entity, and returns its other names, up to event.MaxPage. An unknown name stands for itself.
func Named(
	ctx context.Context, db *postgres.DB, ref event.EntityRef,
) (named event.EntityRef, others []string, err error) {
	named = event.EntityRef{
		Provider: postgres.Clean(ref.Provider), Kind: postgres.Clean(ref.Kind), ExternalID: postgres.Clean(ref.ExternalID),
	}
	err = db.QueryRow(ctx, entityNamed, named.Provider, named.Kind, named.ExternalID, event.MaxPage).
		Scan(&named.ExternalID, &others)
	if len(others) == 0 {
		others = nil
	}
	return named, others, err
}
