package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// Facts describes the database server, not its content.
type Facts struct {
	// Version is PostgreSQL's version number: 150004 is 15.4.
	Version int
	// Now is the database's clock.
	Now time.Time
	// InRecovery is true on a standby, which accepts no writes.
	InRecovery bool
	// StatementTimeout is the limit of a statement, as PostgreSQL writes it; "0" means none.
	StatementTimeout string
	Durability
	// Connections counts the connections of all clients; MaxConnections is the server's limit.
	Connections, MaxConnections int
	// Size is the size of the database in bytes.
	Size int64
	// DataDirectory is the server's data directory; empty if the role may not read it.
	DataDirectory string
	// Untold is how many alerts are not reported yet, UntoldSince the time of the oldest.
	Untold      int64
	UntoldSince *time.Time
}

const (
	selectFacts = `
SELECT current_setting('server_version_num')::integer, clock_timestamp(), pg_is_in_recovery(),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::integer, pg_database_size(current_database()),
       CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'member')
            THEN current_setting('data_directory') ELSE '' END, current_setting('statement_timeout')`

	selectUntold = `
SELECT count(*), min(last_failed_at) FROM dead_letters
 WHERE notified_failures < failures AND state IN ('open', 'exhausted')`
)

// Facts queries the database. It returns nothing of one that is not migrated.
func (s *Store) Facts(ctx context.Context) (f Facts, err error) {
	b := &pgx.Batch{}
	b.Queue(selectFacts).QueryRow(func(row pgx.Row) error {
		return row.Scan(&f.Version, &f.Now, &f.InRecovery, &f.Connections, &f.MaxConnections, &f.Size, &f.DataDirectory,
			&f.StatementTimeout)
	})
	queueDurability(b, &f.Durability)
	b.Queue(selectUntold).QueryRow(func(row pgx.Row) error { return row.Scan(&f.Untold, &f.UntoldSince) })
	err = s.db.SendRead(ctx, b)
	return f, postgres.Failure("look at the database", err)
}
