package persistence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/delivery"
)

// directModel is a destination as simply as possible: what operators have set, what its attempts have shown, and what is in
// flight. Its clock only moves when the test moves the rows.
type directModel struct {
	*database

	t      *rapid.T
	direct *direct
	name   string
	id     int64
	now    time.Duration

	state      delivery.DestinationState
	inFlight   int // the limit
	rate       bool
	lastStart  time.Duration // under the rate
	breaker    delivery.BreakerState
	epoch      int64
	failures   int
	probes     int // successful ones
	isFailing  bool
	isBusy     bool
	openUntil  time.Duration
	pauseUntil time.Duration
	slowUntil  time.Duration // end of the slow start

	inserted, skipped int            // all deliveries, and those that skipped the queue
	attempts          []modelAttempt // leases that have neither ended nor a result
}

type modelAttempt struct {
	delivery.Job
	until  time.Duration
	isDead bool // its process is
}

const (
	modelLease   = 30 * time.Second
	modelProbes  = 3
	modelOpens   = 3 // consecutive failures
	modelForever = time.Duration(1) << 60
)

func newDirectModel(t *rapid.T, db *database, d *direct, n int) *directModel {
	m := &directModel{
		database: db, t: t, direct: d, name: fmt.Sprintf("d%d", n), state: delivery.DestinationReady, inFlight: 2,
		breaker: delivery.BreakerClosed, lastStart: -modelForever, slowUntil: -modelForever,
	}
	m.apply()
	s, err := db.Subscriptions.ApplySubscription(db.t.Context(), delivery.Subscription{
		Name: m.name, To: m.name, Events: delivery.Events{Types: []string{m.name}}, Active: true,
	}, ada)
	require.NoError(t, err)
	m.id = s.DestinationID
	return m
}

func (m *directModel) apply() {
	settings := delivery.Destination{
		Name: m.name, HTTP: &delivery.HTTP{URL: "https://crm.example.com"}, InFlight: m.inFlight,
		Breaker: delivery.Breaker{Failures: modelOpens, Probes: modelProbes},
	}
	if m.rate {
		settings.Rate = perHour(1)
	}
	_, err := m.Subscriptions.ApplyDestination(m.database.t.Context(), settings, nil, admin)
	require.NoError(m.t, err)
}

func (m *directModel) count(condition string) int {
	return value[int](m.database, `SELECT count(*) FROM delivery_queue WHERE destination_id = $1 AND `+condition, m.id)
}

// mayStart reports whether a new delivery may be attempted at once. The two facts that it reads are rows of the queue, and that a
// lease has found the destination blocked.
func (m *directModel) mayStart() bool {
	return m.state == delivery.DestinationReady && m.breaker == delivery.BreakerClosed && m.failures == 0 && !m.isFailing &&
		!m.isBusy && !m.rate && m.now >= m.slowUntil && len(m.attempts) < m.inFlight && m.count(`due_at <= now()`) == 0 &&
		value[string](m.database, `SELECT held FROM destination_states WHERE destination_id = $1`, m.id) == ""
}

func (m *directModel) insert(want bool) {
	r, p := receipt(), parsed()
	r.Type, p.Type = m.name, m.name
	m.mustProcess(r, p)
	m.inserted++
	all := m.direct.take(m.database.t)
	if !want {
		require.Empty(m.t, all)
		return
	}
	m.skipped++
	require.Len(m.t, all, 1)
	require.Equal(m.t, r.ID, all[0].EventID)
	require.Equal(m.t, m.epoch, all[0].Epoch)
	m.attempts = append(m.attempts, modelAttempt{Job: all[0].Job, until: m.now + modelLease})
}

func (m *directModel) leaseUpTo(limit int) []delivery.Job {
	jobs, _, err := m.Outbox.Lease(m.database.t.Context(), delivery.LeaseRequest{Limit: limit, Only: []int64{m.id}})
	require.NoError(m.t, err)
	switch {
	case len(jobs) == 0:
		return nil
	case m.breaker == delivery.BreakerOpen:
		require.GreaterOrEqual(m.t, m.now, m.openUntil)
		m.breaker, m.epoch, m.probes = delivery.BreakerHalfOpen, m.epoch+1, 0
	}
	require.Equal(m.t, delivery.DestinationReady, m.state, "nothing is leased after a pause")
	require.GreaterOrEqual(m.t, m.now, m.pauseUntil)
	for _, j := range jobs {
		require.Equal(m.t, m.epoch, j.Epoch)
		m.attempts = append(m.attempts, modelAttempt{Job: j, until: m.now + modelLease})
	}
	require.LessOrEqual(m.t, len(m.attempts), m.inFlight)
	if m.isBusy {
		require.Len(m.t, m.attempts, 1)
	}
	if m.breaker == delivery.BreakerHalfOpen {
		of := slices.DeleteFunc(slices.Clone(m.attempts), func(a modelAttempt) bool { return a.Epoch != m.epoch })
		require.LessOrEqual(m.t, len(of), max(1, modelProbes-m.probes))
	}
	if m.rate {
		require.Len(m.t, jobs, 1)
		require.GreaterOrEqual(m.t, m.now-m.lastStart, time.Hour)
		m.lastStart = m.now
	}
	return jobs
}

// end ends an attempt of a process that lives.
func (m *directModel) end(kind delivery.Kind, due time.Duration) {
	living := slices.IndexFunc(m.attempts, func(a modelAttempt) bool { return !a.isDead })
	if living < 0 {
		m.t.Skip("nothing is in flight")
	}
	a := m.attempts[living]
	m.attempts = slices.Delete(m.attempts, living, living+1)
	o := became(a.Job, kind, "x")
	if o.DueAt = time.Now().Add(due); !a.WaitsUntil.IsZero() {
		o.DueAt = a.WaitsUntil
	}
	if kind == delivery.Busy {
		o.RetryAfter = 20 * time.Second
		m.isBusy, m.pauseUntil = true, max(m.pauseUntil, m.now+20*time.Second)
	}
	_, err := m.Outbox.Settle(m.database.t.Context(), []delivery.Outcome{o})
	require.NoError(m.t, err)
	if a.Epoch != m.epoch {
		return
	}
	if kind == delivery.OK {
		m.failures, m.isFailing = 0, false
		if m.isBusy && m.now >= m.pauseUntil {
			m.isBusy, m.slowUntil = false, m.now+20*time.Second
		}
		if m.probes++; m.breaker == delivery.BreakerHalfOpen && m.probes >= modelProbes {
			m.breaker, m.slowUntil = delivery.BreakerClosed, m.now+20*time.Second
		}
	}
	if kind == delivery.Bad {
		m.isFailing = true
		if m.failures++; m.failures >= modelOpens || m.breaker == delivery.BreakerHalfOpen {
			m.breaker, m.epoch, m.openUntil = delivery.BreakerOpen, m.epoch+1, m.now+30*time.Second
		}
	}
}

func (m *directModel) set(state delivery.DestinationState) {
	_, err := m.Subscriptions.SetDestinationState(m.database.t.Context(), m.name, state, ada)
	require.NoError(m.t, err)
	if m.state = state; state == delivery.DestinationReady {
		m.openUntil, m.pauseUntil = min(m.openUntil, m.now), min(m.pauseUntil, m.now)
		m.isFailing = true // a resume makes it due for a probe
	}
}

func (m *directModel) wait(span time.Duration) {
	m.passes(m.id, span)
	m.now += span
	m.attempts = slices.DeleteFunc(m.attempts, func(a modelAttempt) bool { return a.until <= m.now })
}

// calm removes all obstacles, and delivers everything.
func (m *directModel) calm() {
	if m.rate {
		m.rate = false
		m.apply()
	}
	if m.state != delivery.DestinationReady {
		m.set(delivery.DestinationReady)
	}
	for m.count(`true`) > 0 {
		m.wait(2 * time.Hour)
		require.NoError(m.t, m.Outbox.Rearm(m.database.t.Context()))
		for range m.leaseUpTo(3) {
			m.end(delivery.OK, 0)
		}
	}
	m.wait(40 * time.Second)
}

func (m *directModel) check() {
	require.Equal(m.t, len(m.attempts), m.count(`lease IS NOT NULL AND due_at > now()`))
	require.Equal(m.t, fmt.Sprint(m.breaker, " ", m.epoch), m.breakerOf(m.id))
	ended := value[int](m.database, `SELECT count(*) FROM deliveries WHERE destination_id = $1`, m.id)
	require.Equal(m.t, m.inserted, ended+m.count(`true`), "each delivery is open or has ended")
}

// Whatever happens to a destination, in whatever order, a delivery skips the queue exactly if nothing stands against an attempt
// at once. No limit is exceeded, nothing is leased during a pause, and in the end everything is delivered.
func TestDirectDeliveriesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	db, d := open(t), &direct{}
	db.Subscriptions.DeliverThrough(d)
	other := connect(t, db.url)
	n, skipped := 0, 0 // all destinations, and their deliveries that skipped the queue
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := newDirectModel(rt, db, d, n)
		rt.Repeat(map[string]func(*rapid.T){
			"":             func(*rapid.T) { m.check() },
			"insert":       func(*rapid.T) { m.insert(m.mayStart()) },
			"insert again": func(*rapid.T) { m.insert(m.mayStart()) },
			"insert without a slot": func(*rapid.T) {
				d.isFull = true
				defer func() { d.isFull = false }()
				m.insert(false)
			},
			"insert during a lease": func(*rapid.T) {
				tx, err := other.Begin(t.Context())
				require.NoError(rt, err)
				defer func() { require.NoError(rt, tx.Rollback(t.Context())) }()
				require.NoError(rt, second(tx.Exec(t.Context(),
					`SELECT FROM destination_states WHERE destination_id = $1 FOR UPDATE`, m.id)))
				m.insert(false)
			},
			"lease":         func(rt *rapid.T) { m.leaseUpTo(rapid.IntRange(1, 3).Draw(rt, "limit")) },
			"succeed":       func(*rapid.T) { m.end(delivery.OK, 0) },
			"succeed again": func(*rapid.T) { m.end(delivery.OK, 0) },
			"fail":          func(*rapid.T) { m.end(delivery.Bad, 10*time.Minute) },
			"fail, due now": func(*rapid.T) { m.end(delivery.Bad, 0) },
			"be busy":       func(*rapid.T) { m.end(delivery.Busy, 0) },
			"kill": func(*rapid.T) {
				for i := range m.attempts {
					m.attempts[i].isDead = true
				}
			},
			"pause":  func(*rapid.T) { m.set(delivery.DestinationPaused) },
			"resume": func(*rapid.T) { m.set(delivery.DestinationReady) },
			"limit": func(rt *rapid.T) {
				m.inFlight = max(len(m.attempts), rapid.IntRange(1, 4).Draw(rt, "in flight"))
				m.apply()
			},
			"rate":  func(*rapid.T) { m.rate = !m.rate; m.apply() },
			"wait":  func(*rapid.T) { m.wait(40 * time.Second) },
			"sleep": func(*rapid.T) { m.wait(2 * time.Hour) },
			"calm":  func(*rapid.T) { m.calm() },
			"rearm": func(*rapid.T) { require.NoError(rt, db.Outbox.Rearm(t.Context())) },
		})
		m.calm()
		m.check()
		require.Zero(rt, m.count(`true`))
		skipped += m.skipped
	})
	require.Greater(t, skipped, n/4)
	t.Logf("%d destinations, %d deliveries skipped the queue", n, skipped)
}
