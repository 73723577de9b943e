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
	// switchOn starts again when the dedupe window gets longer: keys that were stored under a shorter one expire earlier, and a walk
	// that goes back further would process their events twice. No window (null) is the longest.
	switchOn = `
INSERT INTO recovery_marks AS m (provider, target, dedupe)
SELECT provider, $2, dedupe FROM unnest($1::text[], $3::interval[]) AS on_now (provider, dedupe)
ON CONFLICT (provider, target) DO UPDATE
   SET dedupe = excluded.dedupe,
       switched_on = CASE WHEN m.dedupe IS NOT NULL AND (excluded.dedupe IS NULL OR excluded.dedupe > m.dedupe)
                          THEN clock_timestamp() ELSE m.switched_on END
 WHERE m.dedupe IS DISTINCT FROM excluded.dedupe`

	readMark = `SELECT switched_on, watermark FROM recovery_marks WHERE provider = $1 AND target = $2`

	// raiseWatermark moves the watermark only if no time remains unread between it, or the start of recovery, and the window.
	raiseWatermark = `
UPDATE recovery_marks SET walked_at = clock_timestamp(),
       watermark = CASE WHEN $3 <= coalesce(watermark, switched_on) THEN greatest(watermark, $4) ELSE watermark END
 WHERE provider = $1 AND target = $2`
)

// SwitchOn records that recovery is on for some providers, with their dedupe windows, where 0 means forever. Recovery of a target
// is on from its first recovery.
func (s *Store) SwitchOn(ctx context.Context, dedupe map[string]event.Duration) error {
	return postgres.Failure("switch recovery on", s.switchOn(ctx, "", dedupe))
}

func (s *Store) switchOn(ctx context.Context, target string, dedupe map[string]event.Duration) error {
	var names []string
	var windows []*time.Duration
	for name, window := range dedupe {
		var of *time.Duration
		if d := time.Duration(window); d > 0 {
			of = &d
		}
		names, windows = append(names, postgres.Clean(name)), append(windows, of)
	}
	_, err := s.DB.Exec(ctx, switchOn, names, target, windows)
	return err
}

// Mark switches recovery of a list on, if it isn't, and returns what is known about the list.
func (s *Store) Mark(ctx context.Context, provider, target string, dedupe event.Duration) (m operation.RecoveryMark, err error) {
	if err := s.switchOn(ctx, target, map[string]event.Duration{provider: dedupe}); err != nil {
		return m, postgres.Failure("switch recovery on", err)
	}
	var watermark *time.Time
	err = s.DB.QueryRow(ctx, readMark, postgres.Clean(provider), target).Scan(&m.SwitchedOn, &watermark)
	m.SwitchedOn, m.Watermark = m.SwitchedOn.UTC(), timeOf(watermark)
	return m, postgres.Failure("read mark of a list", err)
}

func queueWatermark(b *pgx.Batch, r operation.Recovery) {
	b.Queue(raiseWatermark, r.Provider, r.Target, r.Since, r.Until)
}
