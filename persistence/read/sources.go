package read

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// Each step of the recursion looks up the next source in the index, so that the number of events doesn't matter.
const sourcesOf = `
WITH RECURSIVE stored (source) AS (
       (SELECT e.source FROM events AS e WHERE e.provider = $1 AND e.source <> '' ORDER BY e.source LIMIT 1)
        UNION ALL
       SELECT (SELECT e.source FROM events AS e
                WHERE e.provider = $1 AND e.source <> '' AND e.source > stored.source ORDER BY e.source LIMIT 1)
         FROM stored WHERE stored.source IS NOT NULL),
     dead (source) AS (
       (SELECT d.source FROM dead_letters AS d WHERE d.provider = $1 AND d.source <> '' ORDER BY d.source LIMIT 1)
        UNION ALL
       SELECT (SELECT d.source FROM dead_letters AS d
                WHERE d.provider = $1 AND d.source <> '' AND d.source > dead.source ORDER BY d.source LIMIT 1)
         FROM dead WHERE dead.source IS NOT NULL)
(SELECT source FROM stored WHERE source IS NOT NULL LIMIT $2)
 UNION
(SELECT source FROM dead WHERE source IS NOT NULL LIMIT $2)`

// SourcesOf returns the sources of a provider in events and dead letters: the first by name, up to limit, without "".
func (s *Store) SourcesOf(ctx context.Context, provider string, limit int) ([]string, error) {
	all, err := pgx.CollectRows(s.db.Rows(ctx, sourcesOf, postgres.Clean(provider), limit), pgx.RowTo[string])
	return all, postgres.Failure("list sources of "+postgres.Clean(provider), err)
}
