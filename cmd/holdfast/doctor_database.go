package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/migrations"
	"holdfast/persistence"
)

// oldestPostgres is the oldest version that is tested.
const oldestPostgres = 140000

// The skew of clocks: beyond the first it is odd, beyond the second signatures are refused and times mislead.
const (
	skewWarn = time.Second
	skewFail = 30 * time.Second
)

func (d *doctor) examineDatabase(ctx context.Context) {
	if d.store == nil {
		d.found("database", verdictFail, "none is configured", "set DATABASE_URL")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*doctorLimit)
	defer cancel()
	if err := d.store.Ping(ctx); err != nil {
		d.found("database", verdictFail, err.Error(), "start PostgreSQL, or correct DATABASE_URL")
		d.found("migrations", verdictSkip, "the database does not answer", "")
		return
	}
	if !d.examineMigrations(ctx) {
		return
	}
	begin := time.Now()
	facts, err := d.store.Facts(ctx)
	if err != nil {
		d.found("database", verdictFail, err.Error(), "give the user of DATABASE_URL the rights of the owner of the tables")
		return
	}
	d.examineServer(facts)
	d.examinePooling(ctx, facts)
	d.examineSettings(facts.Settings)
	d.examineClock("clock of the database", facts.Now, begin, time.Now())
	d.examineInbox(ctx)
	d.examineDeadLetters(ctx)
	d.examineUntold(facts)
	d.examineDisk("disk of the database", facts.DataDirectory)
}

func (d *doctor) examineMigrations(ctx context.Context) bool {
	have, want, err := migrations.Current(ctx, d.cfg.Database.URL.Reveal())
	if err != nil {
		d.found("migrations", verdictFail, "they cannot be read", "give the user of DATABASE_URL the right to read goose_db_version")
		return false
	}
	d.found("migrations", either(have >= want, verdictFail), fmt.Sprintf("at %d of %d", have, want), "run `holdfast migrate`")
	return have >= want
}

func (d *doctor) examineServer(f persistence.Facts) {
	detail := fmt.Sprintf("PostgreSQL %d.%d, %d MiB", f.Version/10000, f.Version%10000, f.Size>>20)
	switch {
	case f.InRecovery:
		d.found("database", verdictFail, detail+", a standby", "point DATABASE_URL at the primary")
	case f.Version < oldestPostgres:
		d.found("database", verdictWarn, detail, "upgrade to PostgreSQL 14 or newer; older ones are not tested")
	default:
		d.found("database", verdictOK, detail, "")
	}
	enough := f.Connections*5 < f.MaxConnections*4
	d.found("connections", either(enough, verdictWarn),
		fmt.Sprintf("%d of %d in use; one process takes up to %d", f.Connections, f.MaxConnections, d.cfg.PoolSize()+inboxConns),
		"raise max_connections, or lower HOLDFAST_DATABASE_MAX_CONNS")
}

// examinePooling looks at what stands between this process and PostgreSQL.
func (d *doctor) examinePooling(ctx context.Context, f persistence.Facts) {
	pooling, err := d.store.Pooling(ctx)
	switch {
	case err != nil:
		d.found("pooler", verdictFail, err.Error(), "see docs/operations.md, PgBouncer")
	case f.StatementTimeout == "0":
		d.found("pooler", verdictWarn, string(pooling)+"; no timeout bounds a statement",
			"ALTER ROLE … SET statement_timeout = '15s', and so on: see docs/operations.md, PgBouncer")
	default:
		d.found("pooler", verdictOK, string(pooling)+"; a statement has "+f.StatementTimeout, "")
	}
}

// examineSettings looks at what a 2xx rests on: what PostgreSQL has committed must be on disk.
func (d *doctor) examineSettings(settings map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		d.found(name, either(value != "off", verdictFail), value,
			fmt.Sprintf("set %s = on: what is acknowledged could be lost when the machine dies", name))
	}
}

// examineClock compares a clock, read between begin and end, with ours.
func (d *doctor) examineClock(check string, theirs, begin, end time.Time) {
	middle := begin.Add(end.Sub(begin) / 2)
	skew := max(theirs.Sub(middle).Abs()-end.Sub(begin)/2, 0)
	v := verdictOK
	switch {
	case skew > skewFail:
		v = verdictFail
	case skew > skewWarn:
		v = verdictWarn
	}
	d.found(check, v, fmt.Sprintf("%s from this host's", skew.Round(time.Millisecond)), "synchronise the clocks (NTP)")
}

// How long an event may wait in the inbox before it is odd, and before something is wrong.
const (
	waitingWarn = time.Minute
	waitingFail = 15 * time.Minute
)

func (d *doctor) examineInbox(ctx context.Context) {
	depths, err := d.store.InboxDepth(ctx)
	if err != nil {
		d.found("inbox", verdictFail, err.Error(), "run `holdfast migrate`")
		return
	}
	overflow := depths[event.LaneOverflow]
	v, age := verdictOK, overflow.Age(time.Now())
	switch {
	case age > waitingFail:
		v = verdictFail
	case age > waitingWarn:
		v = verdictWarn
	}
	d.found("inbox", v, fmt.Sprintf("%d event(s) wait for Temporal, the oldest for %s", overflow.Depth, age.Round(time.Second)),
		"see that Temporal answers and an ingress or worker runs; `holdfast inbox list` says why each waits")
}

// unattendedFor is how long a dead letter may wait before somebody should have looked at it: automatic redrive has ended by then,
// and what it leaves out has been told.
const unattendedFor = 24 * time.Hour

// examineDeadLetters: those that are exhausted, or have waited for long, wait for nobody but an operator.
func (d *doctor) examineDeadLetters(ctx context.Context) {
	stats, err := d.store.Stats(ctx, time.Minute)
	if err != nil {
		d.found("dead letters", verdictFail, err.Error(), "run `holdfast migrate`")
		return
	}
	waiting, oldest := map[event.DeadLetterState]int64{}, stats.At
	for _, c := range stats.DeadLetters {
		waiting[c.State] += c.Count
		if c.State != event.DeadLetterRedriving && c.Oldest.Before(oldest) {
			oldest = c.Oldest
		}
	}
	age := stats.At.Sub(oldest)
	v := verdictOK
	switch {
	case waiting[event.DeadLetterExhausted] > 0 || age > unattendedFor:
		v = verdictFail
	case waiting[event.DeadLetterOpen] > 0:
		v = verdictWarn
	}
	var counted []string
	for _, state := range event.DeadLetterStates() {
		if n := waiting[state]; n > 0 {
			counted = append(counted, fmt.Sprintf("%s %d", state, n))
		}
	}
	detail := "none"
	if len(counted) > 0 {
		detail = fmt.Sprintf("%s; the oldest waits for %s", strings.Join(counted, ", "), age.Round(time.Second))
	}
	d.found("dead letters", v, detail, "`holdfast dlq list` (--state exhausted) says why; correct the cause and run them again "+
		"(`holdfast dlq redrive`), or discard them")
}

// untoldFor is how long alerts may wait before something is wrong with all channels.
const untoldFor = 10 * time.Minute

func (d *doctor) examineUntold(f persistence.Facts) {
	if !d.cfg.Notify.URLs.IsSet() {
		d.found("notifications", verdictWarn, "nobody is told of failures and outages", "set HOLDFAST_NOTIFY_URLS")
		return
	}
	if _, err := newNotifier(d.cfg); err != nil {
		d.found("notifications", verdictFail, err.Error(), "correct it; see github.com/nicholas-fedor/shoutrrr")
		return
	}
	waited := f.UntoldSince != nil && f.Now.Sub(*f.UntoldSince) > untoldFor+d.cfg.Notify.Every
	d.found("notifications", either(!waited, verdictFail), fmt.Sprintf("%d failure(s) wait to be told", f.Untold),
		"no channel takes messages: look for notification.failed in the workers' logs")
}
