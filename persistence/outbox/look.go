package outbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
)

// look is one look at the destinations that are due.
type look struct {
	want  delivery.Want
	began time.Time // by this machine's clock
	at    time.Time // by the database's, as are the others
	lease string
	most  int       // destinations
	due   []looking // by ID
	// isShort: other destinations may have had what was missing here.
	isShort bool
	again   time.Time // zero is never
	asked   time.Time
}

// looking is a destination that this transaction has locked.
type looking struct {
	id, epoch, version int64
	turn, room         int
	present            bool
	breaker            delivery.BreakerState
	probesOK           int
	closedAt           *time.Time
	tokens             float64
	tokensAt           *time.Time
	limits             limits
}

func (l *look) collect(rows pgx.Rows) error {
	var d looking
	_, err := pgx.ForEachRow(rows, []any{
		&d.id, &l.at, &d.breaker, &d.epoch, &d.probesOK, &d.closedAt, &d.tokens, &d.tokensAt, &d.version, &d.present,
	}, func() error {
		d.turn, d.room = len(l.due), l.want.Limit
		l.due = append(l.due, d)
		return nil
	})
	if l.want.Room != nil {
		for i, room := range l.want.Room(l.ids()) {
			l.due[i].room = room
		}
	}
	slices.SortFunc(l.due, func(a, b looking) int { return cmp.Compare(a.id, b.id) })
	return err
}

func (l *look) collectNext(rows pgx.Rows) error {
	var next *time.Time
	l.again = time.Time{}
	_, err := pgx.ForEachRow(rows, []any{&next, &l.asked}, func() error {
		if next != nil {
			l.again = *next
		}
		return nil
	})
	return err
}

// next is when to look again, by this machine's clock.
func (l *look) next() time.Time {
	if l.isShort {
		return time.Now()
	}
	pause := latest
	if !l.again.IsZero() {
		pause = max(soonest, min(l.again.Sub(l.asked), latest))
	}
	return time.Now().Add(pause)
}

func (l *look) ids() []int64 { return column(l.due, func(d looking) int64 { return d.id }) }

func (l *look) allowed() []int { return column(l.due, func(d looking) int { return d.allowed(l.at) }) }

// relookAt is below how many under way there is room, whatever their epoch.
func (l *look) relookAt() []int {
	return column(l.due, func(d looking) int {
		if n := d.probes(); n != nil {
			return min(*n, d.allowed(l.at))
		}
		return d.allowed(l.at)
	})
}

// args are those of leaseDue and lookAgain.
func (l *look) args() []any {
	return []any{
		l.lease, l.at, l.ids(),
		column(l.due, func(d looking) int { return d.turn }),
		column(l.due, func(d looking) bool { return d.present }),
		column(l.due, looking.nextEpoch),
		l.allowed(),
		column(l.due, looking.probes),
		column(l.due, func(d looking) float64 { return d.tokensNow(l.at) }),
		column(l.due, func(d looking) *float64 { return d.perToken() }),
		column(l.due, func(d looking) float64 { return d.limits.pause() }),
		column(l.due, func(d looking) time.Time { return l.at.Add(d.limits.timeout + leaseMargin) }),
		column(l.due, func(d looking) int { return d.room }),
		l.want.Limit,
	}
}

// without are the destinations that get nothing.
func (l *look) without() []int64 { return append([]int64{}, l.want.Without...) }

// nextEpoch is that of what is leased now: a breaker that was open long enough begins another one with its probes.
func (d looking) nextEpoch() int64 {
	if d.breaker == delivery.BreakerOpen {
		return d.epoch + 1
	}
	return d.epoch
}

// probes is how many attempts of the epoch may be under way while the breaker is half open, else nil.
func (d looking) probes() *int {
	n := d.limits.probes
	switch d.breaker {
	case delivery.BreakerOpen:
	case delivery.BreakerHalfOpen:
		n = max(1, n-d.probesOK)
	default:
		return nil
	}
	return &n
}

// allowed is how many attempts may be under way. After a breaker has closed it is that of its probes, and doubles every second.
func (d looking) allowed(now time.Time) int {
	all := max(1, d.limits.inFlight)
	if d.closedAt == nil || d.breaker != delivery.BreakerClosed {
		return all
	}
	doubled := int(now.Sub(*d.closedAt) / time.Second)
	if doubled < 0 || doubled > slowestStart {
		return all
	}
	return min(all, max(1, d.limits.probes)<<doubled)
}

// unboundedTokens is more than any lease can take.
const unboundedTokens = 1e9

func (d looking) tokensNow(now time.Time) float64 {
	switch {
	case d.limits.capacity == 0:
		return unboundedTokens
	case d.tokensAt == nil:
		return d.limits.capacity
	default:
		return d.limits.tokens(d.tokens, max(0, now.Sub(*d.tokensAt)))
	}
}

func (d looking) perToken() *float64 {
	if d.limits.capacity == 0 {
		return nil
	}
	return &d.limits.perToken
}

func (l *look) scanJob(row pgx.CollectableRow) (j delivery.Job, err error) {
	var until time.Time
	var leases int
	err = row.Scan(&j.EventID, &j.SubscriptionID, &j.DestinationID, &until, &j.Epoch, &j.Attempts, &leases, &j.Generation,
		&j.QueuedAt)
	j.Lease, j.Tries = l.lease, leases-1
	j.LeasedUntil = l.began.Add(until.Sub(l.at))
	return j, err
}
