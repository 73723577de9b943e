package read

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

// Durability describes how the server keeps what it has committed.
type Durability struct {
	// Settings holds fsync, full_page_writes, synchronous_commit and data_checksums.
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
}

// Standby is a standby that streams from the server.
type Standby struct {
	Name string
	// IsSynchronous reports whether commits wait for it, alone or as one of several.
	IsSynchronous bool
	// Behind is how many bytes of WAL it hasn't on its disk.
	Behind int64
}

// Risk is a reason for which committed data could be lost.
type Risk string

// The risks. One that is named like a setting means that the setting has the wrong value.
const (
	RiskFsync         Risk = "fsync"
	RiskPageWrites    Risk = "full_page_writes"
	RiskCommit        Risk = "synchronous_commit"
	RiskChecksums     Risk = "data_checksums"
	RiskNoSynchronous Risk = "no_synchronous_standby"
)

// Risks reports for each risk whether it exists. A risk that the role can't see is left out.
func (d Durability) Risks() map[Risk]bool {
	hasNames := d.StandbyNames != ""
	commit := d.Settings["synchronous_commit"]
	risks := map[Risk]bool{
		RiskFsync:      d.Settings["fsync"] == "off",
		RiskPageWrites: d.Settings["full_page_writes"] == "off",
		RiskCommit:     commit == "off" || commit == "local" && hasNames,
		RiskChecksums:  d.Settings["data_checksums"] == "off",
	}
	if d.SeesStandbys || !hasNames {
		risks[RiskNoSynchronous] = hasNames && !d.HasSynchronous()
	}
	return risks
}

// HasSynchronous reports whether commits wait for a connected standby.
func (d Durability) HasSynchronous() bool {
	return slices.ContainsFunc(d.Standbys, func(s Standby) bool { return s.IsSynchronous })
}

// Behind returns how many bytes of WAL a failover would lose at least: those that no standby has on its disk. It is 0 without
// standbys.
func (d Durability) Behind() int64 {
	if len(d.Standbys) == 0 {
		return 0
	}
	return slices.MinFunc(d.Standbys, func(a, b Standby) int { return int(a.Behind - b.Behind) }).Behind
}

const (
	selectDamage = `
SELECT (SELECT coalesce(sum(checksum_failures), 0)::bigint FROM pg_stat_database),
       (SELECT max(checksum_last_failure) FROM pg_stat_database),
       current_setting('synchronous_standby_names'), pg_has_role(current_user, 'pg_read_all_stats', 'member')`

	selectSettings = `
SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes', 'data_checksums')`

	// selectStandbys leaves out the senders of base backups and logical replication. PostgreSQL shows a role without the right only
	// the name of a standby.
	selectStandbys = `
SELECT application_name, sync_state IN ('sync', 'quorum'),
       CASE WHEN pg_is_in_recovery() THEN 0
            ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(flush_lsn, sent_lsn))::bigint END
  FROM pg_stat_replication
 WHERE state IN ('streaming', 'catchup') AND pg_has_role(current_user, 'pg_read_all_stats', 'member')
   AND NOT EXISTS (SELECT FROM pg_replication_slots WHERE active_pid = pg_stat_replication.pid AND slot_type = 'logical')
 ORDER BY application_name`
)

// Durability queries what the server does for committed data.
func (s *Store) Durability(ctx context.Context) (d Durability, err error) {
	b := &pgx.Batch{}
	queueDurability(b, &d)
	err = s.db.SendRead(ctx, b)
	return d, postgres.Failure("look at the database's durability", err)
}

func queueDurability(b *pgx.Batch, d *Durability) {
	b.Queue(selectDamage).QueryRow(func(row pgx.Row) error {
		return row.Scan(&d.DamagedPages, &d.DamagedAt, &d.StandbyNames, &d.SeesStandbys)
	})
	var name, value string
	d.Settings = map[string]string{}
	b.Queue(selectSettings).Query(postgres.ForEach([]any{&name, &value}, func() { d.Settings[name] = value }))
	var standby Standby
	b.Queue(selectStandbys).Query(postgres.ForEach([]any{&standby.Name, &standby.IsSynchronous, &standby.Behind}, func() {
		d.Standbys = append(d.Standbys, standby)
	}))
}
