package writer

import (
	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Narrow does a page of up to n things that nobody waits for, and makes it smaller while one of them may be the reason that it
// fails. What fails by its own fault when it is alone is passed over: the last try is told why. A try begins its transaction with
// QueuePatience.
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

// QueuePatience bounds how long a page of n things waits for what somebody holds: shortly, unless it is of one.
func QueuePatience(b *pgx.Batch, n int) {
	p := inCompany
	if n == 1 {
		p = alone
	}
	queueSettings(b, p)
}
