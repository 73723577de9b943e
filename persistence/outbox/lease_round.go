package outbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

// leaseRound is one round of leasing from the due destinations.
type leaseRound struct {
	want delivery.LeaseRequest
	// began is when the lease began, answered when the database's first response arrived, both by this machine's clock.
	began, answered time.Time
	// at is when the destinations were locked, by the database's clock, as are nextDueAt and nextDueReadAt.
	at              time.Time
	lead            time.Duration // of this process
	lease           string
	maxDestinations int
	due             []dueDestination // by ID
	// isShort means that other destinations may have deliveries to fill the lease.
	isShort bool
	// nextDueAt is when the next destination is due (zero: never), as read at nextDueReadAt.
	nextDueAt     time.Time
	nextDueReadAt time.Time
}

// dueDestination is a destination locked by this transaction.
type dueDestination struct {
	id, epoch, version int64
	position, room     int
	present            bool
	breaker            delivery.BreakerState
	probesOK           int
	busyAnswers        int
	closedAt           *time.Time
	startAt            *time.Time // when the next attempt may start; nil means now
	lead               time.Duration
	limits             limits
}

func (l *leaseRound) collect(rows pgx.Rows) error {
	var d dueDestination
	var lead float64
	_, err := pgx.ForEachRow(rows, []any{
		&d.id, &l.at, &d.breaker, &d.epoch, &d.probesOK, &d.closedAt, &d.busyAnswers, &d.startAt, &lead, &d.version, &d.present,
	}, func() error {
		d.lead = max(l.lead, time.Duration(lead*float64(time.Second)))
		d.position, d.room = len(l.due), l.want.Limit
		l.due = append(l.due, d)
		return nil
	})
	if l.want.Room != nil {
		for i, room := range l.want.Room(l.ids()) {
			l.due[i].room = room
		}
	}
	slices.SortFunc(l.due, func(a, b dueDestination) int { return cmp.Compare(a.id, b.id) })
	return err
}

func (l *leaseRound) collectNext(rows pgx.Rows) error {
	var next *time.Time
	l.nextDueAt = time.Time{}
	_, err := pgx.ForEachRow(rows, []any{&next, &l.nextDueReadAt}, func() error {
		if next != nil {
			l.nextDueAt = *next
		}
		return nil
	})
	return err
}

// isNextDue reports whether a destination is due within d, or one that was skipped may be.
func (l *leaseRound) isNextDue(d time.Duration) bool {
	return len(l.want.Without) > 0 || !l.nextDueAt.IsZero() && l.nextDueAt.Sub(l.nextDueReadAt) <= d
}

// next returns when to lease again, by this machine's clock.
func (l *leaseRound) next() time.Time {
	if l.isShort {
		return time.Now()
	}
	pause := maxLeaseInterval
	if !l.nextDueAt.IsZero() {
		pause = max(minLeaseInterval, min(l.nextDueAt.Sub(l.nextDueReadAt), maxLeaseInterval))
	}
	return time.Now().Add(pause)
}

func (l *leaseRound) ids() []int64 {
	return postgres.Column(l.due, func(d dueDestination) int64 { return d.id })
}

func (l *leaseRound) allowed() []int {
	return postgres.Column(l.due, func(d dueDestination) int { return d.allowed(l.at) })
}

// recheckBelow returns the number of attempts in flight below which a destination has capacity again, in any epoch.
func (l *leaseRound) recheckBelow() []int {
	return postgres.Column(l.due, func(d dueDestination) int {
		if n := d.probes(); n != nil {
			return min(*n, d.allowed(l.at))
		}
		return d.allowed(l.at)
	})
}

// args returns the arguments of leaseDue and scheduleNext.
func (l *leaseRound) args() []any {
	return []any{
		l.lease, l.at, l.ids(),
		postgres.Column(l.due, func(d dueDestination) int { return d.position }),
		postgres.Column(l.due, func(d dueDestination) bool { return d.present }),
		postgres.Column(l.due, dueDestination.nextEpoch),
		l.allowed(),
		postgres.Column(l.due, dueDestination.probes),
		postgres.Column(l.due, func(d dueDestination) int { return d.maxStarts(l.at) }),
		postgres.Column(l.due, dueDestination.spacing),
		postgres.Column(l.due, func(d dueDestination) time.Time { return d.nextStart(l.at.Add(d.lead)) }),
		postgres.Column(l.due, func(d dueDestination) time.Time { return l.at.Add(d.limits.timeout + leaseMargin) }),
		postgres.Column(l.due, func(d dueDestination) int { return d.room }),
		l.want.Limit,
	}
}

// without returns the destinations to skip.
func (l *leaseRound) without() []int64 { return append([]int64{}, l.want.Without...) }

// nextEpoch returns the epoch of the leases made now: a breaker whose open time has ended begins a new one with its probes.
func (d dueDestination) nextEpoch() int64 {
	if d.breaker == delivery.BreakerOpen {
		return d.epoch + 1
	}
	return d.epoch
}

// probes returns how many attempts of the epoch may be in flight while the breaker is half open, and nil otherwise.
func (d dueDestination) probes() *int {
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

// allowed returns how many attempts may be in flight. A busy destination gets one until an attempt succeeds. After that, or after
// its breaker closes, the number starts at the number of probes and doubles every second.
func (d dueDestination) allowed(now time.Time) int {
	all := max(1, d.limits.inFlight)
	if d.busyAnswers > 0 {
		return 1
	}
	if d.closedAt == nil || d.breaker != delivery.BreakerClosed {
		return all
	}
	doubled := int(now.Sub(*d.closedAt) / time.Second)
	if doubled < 0 || doubled > maxRampDoublings {
		return all
	}
	return min(all, max(1, d.limits.probes)<<doubled)
}

// unboundedStarts is more than any lease can use.
const unboundedStarts = 1_000_000_000

// ahead is added to lead: an attempt may be leased up to lead + ahead before its start. It bounds how many of a destination's
// attempts wait for their start.
const ahead = 100 * time.Millisecond

// nextStart returns when the next attempt may start, not before earliest. If the stored start is later than any that the current
// rate can produce, it comes from a slower rate that was set before; nextStart then returns the latest one that the current rate
// can produce.
func (d dueDestination) nextStart(earliest time.Time) time.Time {
	if d.startAt == nil || d.limits.spacing == 0 || d.startAt.Before(earliest) {
		return earliest
	}
	furthest := earliest.Add(maxLead - d.lead + ahead + d.limits.spacing)
	if d.startAt.After(furthest) {
		return furthest
	}
	return *d.startAt
}

// maxStarts returns how many attempts may be leased now.
func (d dueDestination) maxStarts(now time.Time) int {
	earliest := now.Add(d.lead)
	switch left := earliest.Add(ahead).Sub(d.nextStart(earliest)); {
	case d.limits.spacing == 0:
		return unboundedStarts
	case left < 0:
		return 0
	default:
		return 1 + int(left/d.limits.spacing)
	}
}

func (d dueDestination) spacing() *float64 {
	if d.limits.spacing == 0 {
		return nil
	}
	seconds := d.limits.spacing.Seconds()
	return &seconds
}

// schedule gives each job of a destination with a rate its own start time. The database's clock is converted so that no start is
// early: StartAt counts from the response that contained the database's time, and StartBy from before the request.
func (l *leaseRound) schedule(jobs []delivery.Job) {
	pauses := map[int64]time.Duration{}
	for i, j := range jobs {
		n, _ := slices.BinarySearchFunc(l.due, j.DestinationID, func(d dueDestination, id int64) int { return cmp.Compare(d.id, id) })
		d := l.due[n]
		if d.limits.spacing == 0 {
			continue
		}
		pause := d.nextStart(l.at.Add(d.lead)).Sub(l.at) + pauses[d.id]
		pauses[d.id] += d.limits.spacing
		jobs[i].StartAt, jobs[i].StartBy = l.answered.Add(pause), l.began.Add(pause+delivery.MaxLate)
		jobs[i].Lead = d.lead
	}
}

func (l *leaseRound) scanJob(row pgx.CollectableRow) (j delivery.Job, err error) {
	var until time.Time
	var waits *time.Time
	var leases int
	err = row.Scan(&j.EventID, &j.SubscriptionID, &j.DestinationID, &until, &j.Epoch, &j.Attempts, &leases, &j.Generation,
		&j.QueuedAt, &waits, &j.HasOwnID, &j.IsOrdered)
	if waits != nil {
		j.WaitsUntil = l.began.Add(waits.Sub(l.at))
	}
	j.Lease, j.Tries = l.lease, leases-1
	j.LeasedUntil = l.began.Add(until.Sub(l.at))
	return j, err
}
