package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// The jitter of ± 20 % parts what failed in the same moment.
const (
	planDue = `
UPDATE dead_letters SET next_redrive_at = last_failed_at + $1::interval * 2 ^ auto_attempts * (0.8 + 0.4 * random())
 WHERE id IN (SELECT id FROM dead_letters
               WHERE state = 'open' AND next_redrive_at IS NULL AND error_class = ANY($2::text[])
                 AND provider <> ALL($3::text[]) AND auto_attempts < $4
               LIMIT $5 FOR UPDATE SKIP LOCKED)`

	exhaust = `
UPDATE dead_letters SET state = 'exhausted', next_redrive_at = NULL
 WHERE id IN (SELECT id FROM dead_letters WHERE state = 'open' AND auto_attempts > 0 AND auto_attempts >= $1
               LIMIT $2 FOR UPDATE SKIP LOCKED)`

	takeDue = `
WITH taken AS (
UPDATE dead_letters SET ` + taken + `, auto_attempts = auto_attempts + 1
 WHERE id IN (SELECT id FROM dead_letters
               WHERE state = 'open' AND next_redrive_at <= clock_timestamp() AND error_class = ANY($2::text[])
                 AND provider <> ALL($3::text[]) AND ` + notOwned + `
               ORDER BY next_redrive_at LIMIT $4 FOR UPDATE SKIP LOCKED)
RETURNING *)` + deadLetterColumns + `, raw_body FROM taken ORDER BY id`

	countRedriving = `SELECT count(*) FROM dead_letters WHERE state = 'redriving'`
)

// planBatch is how many dead letters one statement plans or exhausts.
const planBatch = 1000

// PlanAutomaticRedrive gives open dead letters the time of their next automatic attempt, and marks those as exhausted
// that have had them all. It works through all of them, in statements of 1,000.
func (s *Store) PlanAutomaticRedrive(ctx context.Context, p event.AutomaticRedrive) (planned, exhausted int64, err error) {
	if exhausted, err = s.execAll(ctx, exhaust, p.Attempts); err != nil {
		return 0, exhausted, failure("exhaust dead letters", err)
	}
	planned, err = s.execAll(ctx, planDue, p.Base, classNames(p.Classes), notNil(p.Off), p.Attempts)
	return planned, exhausted, failure("plan automatic redrive", err)
}

// execAll runs a statement, whose last argument is a limit, until it has nothing more to do.
func (s *Store) execAll(ctx context.Context, sql string, args ...any) (all int64, err error) {
	for {
		tag, err := s.pool.Exec(ctx, sql, append(args, planBatch)...)
		all += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < planBatch {
			return all, err
		}
	}
}

// TakeDue takes the first n dead letters that are due, fewer if more than inFlight would be redriving at the same time.
func (s *Store) TakeDue(
	ctx context.Context, owner string, p event.AutomaticRedrive, n, inFlight int,
) (page event.RedrivePage, err error) {
	page.State, page.Rate = event.RedriveRunning, p.Rate
	if err := s.pool.QueryRow(ctx, countRedriving).Scan(&page.InFlight); err != nil {
		return page, failure("count dead letters", err)
	}
	if n = min(n, inFlight-page.InFlight); n <= 0 {
		return page, nil
	}
	b := &pgx.Batch{}
	queueTaken(b, &page.Letters, takeDue, owner, classNames(p.Classes), notNil(p.Off), n)
	err = s.sendOnly(ctx, b)
	page.InFlight += len(page.Letters)
	page.Drained = len(page.Letters) == 0
	return page, failure("take dead letters that are due", err)
}

func classNames(classes []event.Class) []string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = string(c)
	}
	return names
}

// notNil is a list for `<> ALL`, which a null would make unknown.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
