package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/internal/stores"
	"holdfast/migrations"
	"holdfast/persistence"
)

// oldestPostgres is the oldest tested version.
const oldestPostgres = 140000

// The skew of clocks: the first is a warning; beyond the second, signatures are refused and times mislead.
const (
	skewWarn = time.Second
	skewFail = 30 * time.Second
)

func (d *doctor) examineDatabase(ctx context.Context) {
	if d.store == nil {
		d.add(database, resultFail, "none is configured", "set DATABASE_URL=postgres://holdfast@db.internal:5432/holdfast")
		return
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(whole, 2*doctorTimeout)
	defer cancel()
	if err := d.store.Ping(ctx); err != nil {
		d.outage(database, database, err)
	}
	canRead := true
	d.check("migrations", func() { canRead = d.examineMigrations(ctx) }, database)
	var facts persistence.Facts
	d.check("connections and settings", func() { facts, canRead = d.examineFacts(ctx, canRead) }, database)
	if !canRead {
		return
	}
	d.check("inbox", func() { d.examineInbox(ctx) }, database)
	d.check("dead letters", func() { d.examineDeadLetters(ctx) }, database)
	d.check("change feed", func() { d.examineFeed(ctx) }, database)
	d.check("deliveries", func() { d.examineDeliveries(ctx) }, database)
	d.check("recovery", func() { d.examineLists(ctx) }, database)
	d.check("authentication", func() { d.examineAuthentication(ctx) }, database)
	d.check(sourceQueues, func() { d.examineSourceQueues(ctx) }, database)
	d.check("large bodies", func() { d.examineTooLarge(ctx) }, database)
	d.check("entities", func() { d.examineMapped(ctx) }, database)
	d.check("entities left out", func() { d.examineOmitted(ctx) }, database)
	d.check(observedFields, func() { d.examineFields(ctx) }, database)
	d.check("notifications", func() { d.examineNotifications(ctx, facts) }, database)
	d.examineDisk("disk of the database", facts.DataDirectory)
	d.check("archive", func() { d.examineArchive(whole) }, database)
}

// examineMigrations reports whether the tables can be read, or the database doesn't say.
func (d *doctor) examineMigrations(ctx context.Context) bool {
	have, want, err := migrations.Current(ctx, d.cfg.Database.URL.Reveal())
	switch {
	case errors.Is(err, migrations.ErrEarlierBuild):
		d.add("migrations", resultFail, err.Error(), "")
		return false
	case err != nil && serverOf(err) == "":
		d.add("migrations", resultFail, "can't be read", "give the user of DATABASE_URL the right to read goose_db_version")
		return false
	case err != nil:
		d.outage(database, "migrations", err)
		return true
	}
	d.add("migrations", either(have >= want, resultFail), fmt.Sprintf("at %d of %d", have, want), "run `holdfast migrate`")
	return have >= want
}

// examineFacts checks the server itself and whether it is writable.
func (d *doctor) examineFacts(ctx context.Context, isMigrated bool) (f persistence.Facts, canRead bool) {
	if !isMigrated {
		return f, false
	}
	begin := time.Now()
	f, err := d.store.Read.Facts(ctx)
	if err != nil {
		d.failed(database, err, "give the user of DATABASE_URL the rights of the owner of the tables")
		return f, serverOf(err) != ""
	}
	end := time.Now()
	d.examineServer(ctx, f)
	d.examinePooling(ctx, f)
	d.examineDurability(f)
	d.examineClock("clock of the database", f.Now, begin, end)
	return f, true
}

func (d *doctor) examineServer(ctx context.Context, f persistence.Facts) {
	detail := fmt.Sprintf("PostgreSQL %d.%d, %d MiB", f.Version/10000, f.Version%10000, f.Size>>20)
	switch {
	case f.InRecovery:
		d.add(database, resultFail, detail+", a standby", "name both servers, so that the primary is used: "+
			"DATABASE_URL=postgres://holdfast@db1.internal,db2.internal/holdfast?target_session_attrs=read-write")
	case f.Version < oldestPostgres:
		d.add(database, resultWarn, detail, "upgrade to PostgreSQL 14 or newer; older ones are not tested")
	default:
		d.examineWriting(ctx, detail)
	}
	enough := f.Connections*5 < f.MaxConnections*4
	d.add("connections", either(enough, resultWarn),
		fmt.Sprintf("%d of %d in use; one process takes up to %d", f.Connections, f.MaxConnections,
			d.cfg.PoolSize()+stores.InboxConns),
		fmt.Sprintf("set max_connections = %d, or give each process fewer, such as HOLDFAST_DATABASE_MAX_CONNS=%d",
			f.MaxConnections*2, max(d.cfg.PoolSize()/2, 4)))
}

// examineWriting tries the writes that each event needs. A role that may not create temporary tables
// can't try them, which counts as OK.
func (d *doctor) examineWriting(ctx context.Context, detail string) {
	err := d.store.TryWrite(ctx)
	switch code := event.CodeOf(err); {
	case err == nil || code == "insufficient_privilege":
		d.add(database, resultOK, detail, "")
	case serverOf(err) != "" && code != "disk_full" && code != "io_error":
		d.outage(database, "writing", err)
	default:
		d.add(database, resultFail, detail+"; can't be written: "+err.Error(),
			"free space on its disk, or end its read-only mode: until then no event is stored")
	}
}

// examinePooling checks the pooler between this process and PostgreSQL.
func (d *doctor) examinePooling(ctx context.Context, f persistence.Facts) {
	pooling, err := d.store.Pooling(ctx)
	switch {
	case err != nil:
		d.failed("pooler", err, "see docs/pgbouncer.md")
	case f.StatementTimeout == "0":
		d.add("pooler", resultWarn, string(pooling)+"; no timeout bounds a statement",
			"ALTER ROLE … SET statement_timeout = '15s', and so on: see docs/pgbouncer.md")
	default:
		d.add("pooler", resultOK, string(pooling)+"; a statement has "+f.StatementTimeout, "")
	}
}

// examineClock compares a clock, read between begin and end, with ours.
func (d *doctor) examineClock(check string, theirs, begin, end time.Time) {
	middle := begin.Add(end.Sub(begin) / 2)
	skew := max(theirs.Sub(middle).Abs()-end.Sub(begin)/2, 0)
	d.add(check, above(skew, skewWarn, skewFail), fmt.Sprintf("%s from this host's", skew.Round(time.Millisecond)),
		"synchronise the clocks (NTP)")
}
