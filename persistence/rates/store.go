package rates

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// take orders its rows by name, so that two processes lock shared buckets in the same order. A bucket holds as many requests as
// its rate allows in its time span, and refills evenly. It has the rate of the claims; while they disagree, the lowest.
const take = `
INSERT INTO rates AS r (name, requests, seconds, full_at, granted, rated_at)
SELECT name, requests, seconds, statement_timestamp() + make_interval(secs => least(want, requests) * seconds / requests),
       least(want, requests), statement_timestamp()
  FROM unnest($1::text[], $2::integer[], $3::double precision[], $4::integer[]) AS a (name, requests, seconds, want)
 ORDER BY name
    ON CONFLICT (name) DO UPDATE
   SET full_at = statement_timestamp()
               + make_interval(secs => ` + used + ` + ` + granted + ` * ` + seconds + ` / ` + requests + `),
       granted = ` + granted + `,
       requests = ` + requests + `,
       seconds = ` + seconds + `,
       rated_at = CASE WHEN ` + isLower + ` THEN r.rated_at ELSE statement_timestamp() END
RETURNING name, granted,
          extract(epoch FROM full_at - statement_timestamp())::double precision - seconds + seconds / requests AS wait`

// isLower is true if the bucket keeps a rate that is lower than the claim's, because a process may still have it.
const isLower = `(r.rated_at > statement_timestamp() - interval '1 minute'
       AND (r.requests / r.seconds, r.requests) < (excluded.requests / excluded.seconds, excluded.requests))`

// requests and seconds are the rate that holds.
const (
	requests = `CASE WHEN ` + isLower + ` THEN r.requests ELSE excluded.requests END`
	seconds  = `CASE WHEN ` + isLower + ` THEN r.seconds ELSE excluded.seconds END`
)

// used is the time until a bucket is full, in seconds. It is capped at that of an empty bucket, so that a clock that was set back
// blocks no rate.
const used = `least(greatest(extract(epoch FROM r.full_at - statement_timestamp())::double precision, 0), ` + seconds + `)`

// granted is the lesser of what the bucket has and what is wanted. full_at has microsecond precision. Returned requests are
// negative.
const granted = `least(excluded.granted,
       greatest(floor((` + seconds + ` - ` + used + ` + 1e-6) * ` + requests + ` / ` + seconds + `)::integer, 0))`

// Purge removes up to $2 buckets that were full at $1.
const Purge = `
DELETE FROM rates WHERE name = ANY (ARRAY(SELECT name FROM rates WHERE full_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`

// Store grants requests from shared rate limits. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

// TakeRates claims requests from rates, and returns how many it granted for each claim, in the order of the claims. No two claims
// may have the same name. A negative claim returns requests.
func (s *Store) TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error) {
	var (
		names          []string
		requests, want []int
		seconds        []float64
	)
	for _, c := range claims {
		names, requests = append(names, postgres.Clean(c.Name)), append(requests, c.Requests)
		seconds, want = append(seconds, c.Per.Seconds()), append(want, c.Want)
	}
	rows, err := s.db.Query(ctx, take, names, requests, seconds, want)
	if err != nil {
		return nil, postgres.Failure("take from rates", err)
	}
	granted := make(map[string]event.RateGrant, len(claims))
	var name string
	var wait float64
	var grant event.RateGrant
	_, err = pgx.ForEachRow(rows, []any{&name, &grant.Granted, &wait}, func() error {
		grant.Wait = time.Duration(max(wait, 0) * float64(time.Second))
		granted[name] = grant
		return nil
	})
	if err != nil {
		return nil, postgres.Failure("take from rates", err)
	}
	grants := make([]event.RateGrant, len(claims))
	for i, name := range names {
		grants[i] = granted[name]
	}
	return grants, nil
}
