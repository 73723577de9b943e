package recoveries

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// switchOn starts again when a dedupe window may have become longer: keys that were stored under a shorter one expire earlier,
	// and a walk that goes back further would process their events twice. No window (null) is the longest. Which types share a
	// window isn't known here, so the longest one of now is compared with the shortest one of before.
	switchOn = `
INSERT INTO recovery_marks AS m (provider, target, dedupe, windows, switched_on)
SELECT provider, $2, shortest, windows, coalesce($6, clock_timestamp())
  FROM unnest($1::text[], $3::interval[], $5::text[]) AS on_now (provider, shortest, windows)
ON CONFLICT (provider, target) DO UPDATE
   SET dedupe = excluded.dedupe, windows = excluded.windows,
       switched_on = CASE WHEN EXISTS (SELECT FROM unnest($1::text[], $4::interval[]) AS w (provider, longest)
                                        WHERE w.provider = m.provider AND m.dedupe IS NOT NULL
                                          AND (w.longest IS NULL OR w.longest > m.dedupe))
                          THEN clock_timestamp() ELSE m.switched_on END
 WHERE m.windows <> excluded.windows`

	marks = `SELECT provider, target, switched_on, watermark, walked_at FROM recovery_marks`

	// raiseWatermark moves the watermark only if no time remains unread between it, or the start of recovery, and the window, or if
	// the recovery itself says which time that is ($6).
	raiseWatermark = `
UPDATE recovery_marks SET walked_at = CASE WHEN $5 THEN clock_timestamp() ELSE walked_at END,
       watermark = CASE WHEN $6 OR $3 <= coalesce(watermark, switched_on) THEN greatest(watermark, $4) ELSE watermark END
 WHERE provider = $1 AND target = $2`
)

// SwitchOn records that recovery is on for some providers, with their dedupe windows. Recovery of a target is on from its first
// recovery.
func (s *Store) SwitchOn(ctx context.Context, dedupe map[string]operation.DedupeWindows) error {
	return s.SwitchOnSince(ctx, time.Time{}, dedupe)
}

// SwitchOnSince is SwitchOn at an earlier time, for providers whose recovery has never been on. The keys of all events since then
// must be here.
func (s *Store) SwitchOnSince(ctx context.Context, since time.Time, dedupe map[string]operation.DedupeWindows) error {
	return postgres.Failure("switch recovery on", s.switchOn(ctx, "", since, dedupe))
}

func (s *Store) switchOn(
	ctx context.Context, target string, since time.Time, dedupe map[string]operation.DedupeWindows,
) error {
	var names, all []string
	var shortest, longest []*time.Duration
	for name, w := range dedupe {
		names, all = append(names, postgres.Clean(name)), append(all, postgres.Clean(w.All))
		shortest, longest = append(shortest, nullUnless(w.Shortest)), append(longest, nullUnless(w.Longest))
	}
	_, err := s.DB.Exec(ctx, switchOn, names, target, shortest, longest, all, nullOf(since))
	return err
}

// nullUnless returns nil for a window without an end.
func nullUnless(window event.Duration) *time.Duration {
	if d := time.Duration(window); d > 0 {
		return &d
	}
	return nil
}

// Mark switches recovery of a list on, if it isn't, and returns what is known about the list.
func (s *Store) Mark(
	ctx context.Context, provider, target string, dedupe operation.DedupeWindows,
) (m operation.RecoveryMark, err error) {
	if err := s.switchOn(ctx, target, time.Time{}, map[string]operation.DedupeWindows{provider: dedupe}); err != nil {
		return m, postgres.Failure("switch recovery on", err)
	}
	m, err = scanMark(s.DB.QueryRow(ctx, marks+` WHERE provider = $1 AND target = $2`, postgres.Clean(provider), target))
	return m, postgres.Failure("read mark of a list", err)
}

// Marks returns what is known about each list, by provider and target. There are few.
func (s *Store) Marks(ctx context.Context) ([]operation.RecoveryMark, error) {
	rows := s.DB.Rows(ctx, marks+` ORDER BY provider, target`)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (operation.RecoveryMark, error) { return scanMark(row) })
	return all, postgres.Failure("read marks of lists", err)
}

func scanMark(row pgx.Row) (m operation.RecoveryMark, err error) {
	err = row.Scan(&m.Provider, &m.Target, &m.SwitchedOn, postgres.TimeOrZero(&m.Watermark), postgres.TimeOrZero(&m.WalkedAt))
	return m, err
}

// queueWatermark moves the watermark to the end of the window. A recovery that goes on from the watermark moves it over the time
// that it couldn't read: its row says which time that is, and no later one could read it either.
func queueWatermark(b *pgx.Batch, r operation.Recovery) {
	goesOn := r.AskedSince.IsZero()
	b.Queue(raiseWatermark, r.Provider, r.Target, r.Since, r.Until, r.Whole || goesOn && r.Cut == operation.CutReach,
		goesOn && r.Cut != "")
}
