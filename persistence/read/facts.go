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
	// Settings holds those that durability depends on, by name.
	Settings map[string]string
	// DamagedPages counts the pages of the server that failed their checksum, DamagedAt is the time of the last one; nil if there
	// was none.
	DamagedPages int64
	DamagedAt    *time.Time
	// StandbyNames is synchronous_standby_names; empty if no commit waits for a standby.
	StandbyNames string
	// Standbys are those connected; nil if SeesStandbys is false, as the role isn't a member of pg_monitor.
	Standbys     []Standby
	SeesStandbys bool
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

// Standby is a standby that streams from the server.
type Standby struct {
	Name string
	// IsSynchronous reports whether commits wait for it, alone or as one of several.
	IsSynchronous bool
	// Behind is how many bytes of WAL it hasn't on its disk.
	Behind int64
}

const (
	selectFacts = `
SELECT current_setting('server_version_num')::integer, clock_timestamp(), pg_is_in_recovery(),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::integer, pg_database_size(current_database()),
       CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'member')
            THEN current_setting('data_directory') ELSE '' END, current_setting('statement_timeout'),
       (SELECT coalesce(sum(checksum_failures), 0)::bigint FROM pg_stat_database),
       (SELECT max(checksum_last_failure) FROM pg_stat_database),
       current_setting('synchronous_standby_names'), pg_has_role(current_user, 'pg_read_all_stats', 'member')`

	selectSettings = `
SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes', 'data_checksums')`

	// selectStandbys leaves out the senders of base backups and logical replication.
	selectStandbys = `
SELECT application_name, sync_state IN ('sync', 'quorum'),
       CASE WHEN pg_is_in_recovery() THEN 0
            ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(flush_lsn, sent_lsn))::bigint END
  FROM pg_stat_replication
 WHERE state IN ('streaming', 'catchup')
   AND NOT EXISTS (SELECT FROM pg_replication_slots WHERE active_pid = pg_stat_replication.pid AND slot_type = 'logical')
 ORDER BY application_name`

	selectUntold = `
SELECT count(*), min(last_failed_at) FROM dead_letters
 WHERE notified_failures < failures AND state IN ('open', 'exhausted')`
)

// Facts queries the database. It returns nothing of one that is not migrated.
func (s *Store) Facts(ctx context.Context) (f Facts, err error) {
	f.Settings = map[string]string{}
	b := &pgx.Batch{}
	b.Queue(selectFacts).QueryRow(func(row pgx.Row) error {
		return row.Scan(&f.Version, &f.Now, &f.InRecovery, &f.Connections, &f.MaxConnections, &f.Size, &f.DataDirectory,
			&f.StatementTimeout, &f.DamagedPages, &f.DamagedAt, &f.StandbyNames, &f.SeesStandbys)
	})
	var name, value string
	b.Queue(selectSettings).Query(postgres.ForEach([]any{&name, &value}, func() { f.Settings[name] = value }))
	var standby Standby
	b.Queue(selectStandbys).Query(postgres.ForEach([]any{&standby.Name, &standby.IsSynchronous, &standby.Behind}, func() {
		f.Standbys = append(f.Standbys, standby)
	}))
	b.Queue(selectUntold).QueryRow(func(row pgx.Row) error { return row.Scan(&f.Untold, &f.UntoldSince) })
	err = s.db.SendRead(ctx, b)
	if !f.SeesStandbys {
		f.Standbys = nil // of a role without the right, PostgreSQL hides what a standby is
	}
	return f, postgres.Failure("look at the database", err)
}
