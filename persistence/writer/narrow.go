package writer

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Narrow processes a page of up to n items in the background, and shrinks it while one of the items may be the cause of a
// failure. An item that fails alone, by its own fault, is skipped: the last try gets the error. Each try begins its transaction
// with QueueTimeouts.
func Narrow[T any](n int, doing string, try func(n int, fault error) (T, error)) (T, error) {
	var fault error
	for races := 0; ; {
		done, err := try(n, fault)
		switch {
		case isRace(err) && races < maxRaces:
			races++
		case err == nil || !isOfOne(err):
			return done, err
		case n > 1:
			n /= 2
		case fault == nil && event.ClassOf(postgres.Failure(doing, err)) == event.ClassRejected:
			fault = postgres.Failure(doing, err)
		default:
			return done, err
		}
	}
}

// QueueTimeouts sets the lock timeout for a page of n items: short, unless n is 1.
func QueueTimeouts(b *pgx.Batch, n int) {
	p := groupTimeouts
	if n == 1 {
		p = alone
	}
	queueSettings(b, p)
}
