package upkeep

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/fetches"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	// archivedRows bounds the content of one archive file, like postgres.MaxPageBytes.
	archivedRows = 5000

	outdatedEvents = records.Columns + `, raw_body, e.xmin::text, ` + fetches.Columns + ` FROM events AS e` + fetches.Join + `
 WHERE e.id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT e.id, octet_length(e.raw_body) + pg_column_size(e.receipt) +
                     coalesce((SELECT octet_length(f.state) FROM fetched_states AS f WHERE f.event_id = e.id), 0) AS size
                FROM events AS e
               WHERE e.id < $1::uuid AND e.id > $3::uuid AND ` + isOutdated + `$4::timestamptz
               ORDER BY e.id LIMIT $2) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY e.id`

	// addFile makes an existing file due again, since it may be written with events that were expunged after it was checked.
	addFile = `
INSERT INTO archive_files AS was (name, first_id, last_id, lines, expunges, at, looked)
VALUES ($1, $2::uuid, $3::uuid, $4, $5, $6, $7)
    ON CONFLICT (name) DO UPDATE
   SET looked = greatest(was.looked, excluded.looked), expunges = greatest(was.expunges, excluded.expunges, was.looked + 1),
       at = excluded.at`

	dueFiles = `
SELECT name, first_id::text, last_id::text, lines, expunges, looked, at FROM archive_files
 WHERE looked < expunges AND name > $2 ORDER BY name LIMIT $1`

	settleFile = `UPDATE archive_files SET looked = $2 WHERE name = $1 AND looked < $2`

	dropFile = `DELETE FROM archive_files WHERE name = $1`

	// markFiles runs after the statement that waits for the event's lock: by then a purge that wrote the event to its file has
	// ended, and has recorded the file.
	markFiles = `
UPDATE archive_files SET expunges = expunges + 1, due_at = CASE WHEN looked < expunges THEN due_at ELSE clock_timestamp() END
 WHERE last_id >= $1::uuid AND first_id <= $1::uuid`

	expungedBetween = `
SELECT event_id::text FROM decisions WHERE event_id BETWEEN $1::uuid AND $2::uuid AND decision = 'expunged'`

	archiveStats = `
SELECT (SELECT count(*) FROM archive_files), (SELECT max(at) FROM archive_files),
       (SELECT count(*) FROM archive_files WHERE looked < expunges),
       (SELECT min(due_at) FROM archive_files WHERE looked < expunges)`

	filesPerLook = 100
)

// Outdated reads some rows from before a time, oldest first, and changes nothing. It supports events and dead letters only.
func (s *Store) Outdated(ctx context.Context, kind retention.Kind, before time.Time) (all []retention.Outdated, err error) {
	if kind == retention.Events {
		err = s.fromLastPurge(func(from string) (int, error) {
			all, err = s.readOutdated(ctx, scanOutdatedEvent, outdatedEvents, event.FirstIDAt(before), archivedRows,
				from, before)
			return len(all), err
		})
	} else {
		all, err = s.readOutdated(ctx, deadletters.ScanOutdated, deadletters.Outdated, before, archivedRows)
	}
	return all, postgres.Failure("read outdated "+string(kind), err)
}

func (s *Store) readOutdated(
	ctx context.Context, scan func(pgx.Row) (retention.Outdated, error), sql string, args ...any,
) (all []retention.Outdated, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(postgres.InOrder)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error { return collectOutdated(rows, &all, scan) })
	return all, s.db.SendRead(ctx, b)
}

func collectOutdated(rows pgx.Rows, all *[]retention.Outdated, scan func(pgx.Row) (retention.Outdated, error)) error {
	defer rows.Close()
	for bytes := 0; bytes < postgres.MaxPageBytes && rows.Next(); {
		o, err := scan(rows)
		if err != nil {
			return err
		}
		bytes += len(o.Body) + len(o.UnreadReceipt) + len(o.Receipt().Root)
		if o.Fetched != nil {
			bytes += len(o.Fetched.State)
		}
		*all = append(*all, o)
	}
	rows.Close()
	return rows.Err()
}

func scanOutdatedEvent(row pgx.Row) (o retention.Outdated, err error) {
	var fetched fetches.Scanned
	r, err := records.Scan(row, append([]any{&o.Body, &o.Version}, fetched.Targets()...)...)
	o.Event = &r
	if f := fetched.Fetched(); f != nil {
		o.Fetched = &retention.Fetched{At: f.At, State: f.State}
	}
	return o, err
}

// PurgeOutdated removes the rows that were read, unless they have changed, and returns how many. Without rows it removes data of
// events that are gone. by is nil for the schedule.
func (s *Store) PurgeOutdated(
	ctx context.Context, kind retention.Kind, before time.Time, all []retention.Outdated, by *oversight.Actor,
) (removed int64, err error) {
	p := purge{kind: kind, before: before, by: by}
	if len(all) == 0 {
		if kind == retention.Events {
			removed, err = s.purgeWithEvents(ctx, p)
		}
		return removed, postgres.Failure("purge "+string(kind), err)
	}
	for len(all) > 0 && err == nil {
		n := min(len(all), purgeRows)
		var gone int64
		gone, err = s.purgeRead(ctx, p, all[:n])
		removed, all = removed+gone, all[n:]
	}
	return removed, postgres.Failure("purge "+string(kind), err)
}

func (s *Store) purgeRead(ctx context.Context, p purge, all []retention.Outdated) (removed int64, err error) {
	versions := make([]string, len(all))
	for i, o := range all {
		versions[i] = o.Version
	}
	if p.kind == retention.Events {
		ids := make([]string, len(all))
		for i, o := range all {
			ids[i] = o.Event.Receipt.ID
		}
		return s.purgeEvents(ctx, p, purgeReadEvents, event.FirstIDAt(p.before), ids, versions, p.before)
	}
	ids := make([]int64, len(all))
	for i, o := range all {
		ids[i] = o.DeadLetter.ID
	}
	return s.removeOld(ctx, p, deadletters.CleanOutdated, ids, versions)
}

// AddArchiveFile records a file before it is written, and again afterwards: if a slow writer's record was dropped meanwhile, this
// restores it.
func (s *Store) AddArchiveFile(ctx context.Context, f retention.ArchiveFile) error {
	_, err := s.db.Exec(ctx, addFile, f.Name, f.FirstID, f.LastID, f.Lines, f.Expunges, f.At, f.CheckedExpunges)
	return postgres.Failure("note file "+f.Name, err)
}

// DueArchiveFiles returns some files that may contain expunged events, by name, starting after a name.
func (s *Store) DueArchiveFiles(ctx context.Context, after string) ([]retention.ArchiveFile, error) {
	rows := s.db.Rows(ctx, dueFiles, filesPerLook, after)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f retention.ArchiveFile, err error) {
		return f, row.Scan(&f.Name, &f.FirstID, &f.LastID, &f.Lines, &f.Expunges, &f.CheckedExpunges, &f.At)
	})
	return all, postgres.Failure("list files of the archive", err)
}

// SettleArchiveFile records that a file contains no expunged events, unless one was expunged since the file was read.
func (s *Store) SettleArchiveFile(ctx context.Context, f retention.ArchiveFile) error {
	_, err := s.db.Exec(ctx, settleFile, f.Name, f.Expunges)
	return postgres.Failure("settle file "+f.Name, err)
}

// DropArchiveFile removes the record of a file.
func (s *Store) DropArchiveFile(ctx context.Context, name string) error {
	_, err := s.db.Exec(ctx, dropFile, name)
	return postgres.Failure("forget file "+name, err)
}

// ExpungedBetween returns the IDs of expunged events between two IDs.
func (s *Store) ExpungedBetween(ctx context.Context, first, last string) ([]string, error) {
	ids, err := pgx.CollectRows(s.db.Rows(ctx, expungedBetween, first, last), pgx.RowTo[string])
	return ids, postgres.Failure("list what was expunged", err)
}

// ArchiveStats summarizes the archive.
func (s *Store) ArchiveStats(ctx context.Context) (a retention.ArchiveStats, err error) {
	err = s.db.QueryRow(ctx, archiveStats).
		Scan(&a.Files, postgres.TimeOrZero(&a.Newest), &a.Due, postgres.TimeOrZero(&a.OldestDue))
	return a, postgres.Failure("read the archive's files", err)
}
