package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scenario is one fault, or a sequence of several.
type scenario struct {
	// id is the row of the fault catalogue: F01.
	id string
	// name is short and unique.
	name string
	// fault injects it, waits, and removes it.
	fault func(*world)
	// short includes it in `go test ./...`.
	short bool
	// accepts means that no request during the fault may be answered with 5xx: the other store is enough.
	accepts bool
	// twice repeats the checks after an orderly restart of everything.
	twice bool
	// environ adds variables to the processes' environment.
	environ []string
	// disk, in MiB, gives Holdfast's database its own file system of this size.
	disk int
	// prepare starts separate servers for the world, before it has a database.
	prepare func(*world)
	// replicated runs Holdfast's database on its own server, with a synchronous standby.
	replicated bool
	// asynchronous means that commits don't wait for that standby.
	asynchronous bool
	// pooled puts a PgBouncer in front of Holdfast's database.
	pooled bool
	// after makes checks that only this scenario needs.
	after func(*world)
	// code is compiled before the load begins.
	code *variant
	// mixed means that workers with different code share runs, which may then disagree with a history.
	mixed bool
	// loses makes it a control: its fault ends the load, and loses counts acknowledged events that are then lost. If there are
	// none, the scenarios like it show nothing.
	loses func(*world) int
	// buries means that operators turn good events into dead letters.
	buries bool
}

var scenarios = concat(postgresFaults, temporalFaults, workerFaults, ingressFaults, eventFaults, systemFaults, deliveryFaults,
	failoverFaults, restoreFaults, clockFaults, powerFaults, bitRotFaults, networkFaults, clusterFaults, recoveryFaults)

func concat(groups ...[]scenario) (joined []scenario) {
	for _, g := range groups {
		joined = append(joined, g...)
	}
	return joined
}

// Every scenario, one after the other: they share the servers and the machine.
func TestChaos(t *testing.T) {
	t.Logf("seed %d", *seed)
	wanted := regexp.MustCompile(*only)
	var results []result
	for _, s := range scenarios {
		if !wanted.MatchString(s.name) || (!*all && *only == "" && !s.short) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			r := result{scenario: &s, verdict: "FAILED"}
			began := time.Now()
			defer func() { // also if it has failed half-way
				r.took = time.Since(began)
				results = append(results, r)
				t.Log(&r)
			}()
			play(t, &s, &r)
		})
	}
	require.NotEmpty(t, results, "no scenario is named like %q", *only)
	text := table(results)
	t.Logf("seed %d\n%s", *seed, text)
	if *report != "" {
		require.NoError(t, os.WriteFile(*report, []byte(text), 0o644))
	}
}

// The lengths of a scenario's parts.
const (
	warmUp     = 50 // events
	afterwards = 25
	settle     = 4 * time.Minute
)

// play runs a scenario, and fills in its row as far as it gets.
func play(t *testing.T, s *scenario, r *result) {
	if s.code != nil {
		s.code.build(t)
	}
	w := newWorld(t, s)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat it: make chaos SEED=%d SCENARIO='^%s$'", *seed, s.name)
		}
	})
	w.load = newLoad(t, w.dir, rand.New(rand.NewPCG(*seed, uint64(len(s.name)))), w.doors())
	w.awaitSearchAttributes()
	go w.load.run()
	w.load.awaitAccepted(time.Minute, warmUp)
	w.measureBaseline()

	began := time.Now()
	s.fault(w)
	if s.loses != nil {
		r.total, r.lost, r.checked = len(w.load.acked), s.loses(w), true
		require.Positive(t, r.lost, "lost events")
		r.verdict = "loses events, as it must"
		return
	}
	w.recover()
	healed := time.Now()
	r.acknowledged, r.unavailable, r.silent, r.slowest = w.load.between(began, healed)
	if s.accepts {
		require.Positive(t, r.acknowledged, "acknowledged during the fault")
		require.Zero(t, r.unavailable, "answered with 5xx during the fault")
	}

	w.load.awaitAccepted(time.Minute, afterwards)
	w.load.stop()
	for _, n := range w.nodes() {
		n.awaitReady(t)
	}
	w.load.redeliver()
	w.load.close()
	w.awaitQuiet(settle)
	r.heal = time.Since(healed)
	w.check(r)
	if s.after != nil {
		s.after(w)
	}
	if s.twice {
		w.restart()
		w.awaitQuiet(settle)
		w.check(r)
	}
	if !t.Failed() {
		r.verdict = "held"
	}
}

func (w *world) doors() (doors []string) {
	for _, n := range w.ingresses {
		doors = append(doors, n.ingress)
	}
	return doors
}

// result is a row of the table.
type result struct {
	scenario *scenario
	// acknowledged, unavailable (5xx), silent (no answer) and slowest cover the requests that began during the fault.
	acknowledged, unavailable, silent int
	slowest                           time.Duration
	// total counts the acknowledged events of the whole scenario; recovered those that were accepted but never acknowledged.
	total, lost, duplicated, wrong, dead, recovered int
	heal, took                                      time.Duration
	note, verdict                                   string
	// checked means that the ledger was compared with the database.
	checked bool
}

func (r *result) String() string {
	return fmt.Sprintf("%s %s: %d events acknowledged, %d of them during the fault with %d × 5xx and %d without an answer; "+
		"%d lost, %d duplicated, %d recovered; quiet after %s; %s; %s in all",
		r.scenario.id, r.scenario.name, r.total, r.acknowledged, r.unavailable, r.silent, r.lost, r.duplicated, r.recovered,
		r.heal.Round(time.Second/10), r.verdict, r.took.Round(time.Second/10))
}
