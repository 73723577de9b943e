package lab

import (
	"maps"
	"sync"
	"time"
)

// The labels of CPU time and memory. PostgreSQL also has one for each database.
const (
	LabelTemporal = "Temporal"
	LabelHoldfast = "holdfast"
	// LabelPooler is PgBouncer, if there is one.
	LabelPooler = "PgBouncer"
	// LabelLoad is the load generator, which is this process: it also checks the ledger and receives the traces.
	LabelLoad = "load generator"
	// LabelBaseline is the program that the product is compared with.
	LabelBaseline = "baseline"
	// LabelBackground is all of PostgreSQL outside of connections, and connections too short to be sampled.
	LabelBackground = postgresLabel + "background"

	postgresLabel = "PostgreSQL: "
)

// DatabaseLabel returns the label of the connections to a database.
func DatabaseLabel(database string) string { return postgresLabel + database }

// sampleEvery is the sampling interval. What a connection uses after its last sample counts as background.
const sampleEvery = 250 * time.Millisecond

// Usage is CPU time by label since the meter began.
type Usage map[string]time.Duration

// Sub returns the usage since an earlier moment.
func (u Usage) Sub(earlier Usage) Usage {
	diff := Usage{}
	for label, used := range u {
		if d := used - earlier[label]; d > 0 {
			diff[label] = d
		}
	}
	return diff
}

// Total returns the sum, except for the excluded labels.
func (u Usage) Total(without ...string) (sum time.Duration) {
	left := map[string]bool{}
	for _, label := range without {
		left[label] = true
	}
	for label, used := range u {
		if !left[label] {
			sum += used
		}
	}
	return sum
}

// Sample is one sample of all processes.
type Sample struct {
	At  time.Time
	CPU Usage
	// RSS is in bytes. PostgreSQL is left out, because its shared memory would count once for each process.
	RSS map[string]int64
}

// Meter samples processes, from /proc, as long as the lab is open.
type Meter struct {
	postmaster int
	ended      chan struct{}
	stopped    sync.WaitGroup

	mu      sync.Mutex
	tracked map[int]string
	seen    map[process]time.Duration // the last sample of each existing process
	labels  map[process]string
	samples []Sample
}

func newMeter(postmaster int) *Meter {
	m := &Meter{
		postmaster: postmaster, ended: make(chan struct{}), tracked: map[int]string{},
		seen: map[process]time.Duration{}, labels: map[process]string{},
	}
	m.stopped.Go(m.run)
	return m
}

// Track attributes a process to a label until it ends.
func (m *Meter) Track(label string, pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tracked[pid] = label
}

func (m *Meter) run() {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.Sample()
		case <-m.ended:
			return
		}
	}
}

func (m *Meter) stop() {
	close(m.ended)
	m.stopped.Wait()
}

// Sample samples all processes now.
func (m *Meter) Sample() Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Sample{At: time.Now(), CPU: Usage{}, RSS: map[string]int64{}}
	for pid, label := range m.tracked {
		p, used, err := readProcess(pid)
		if err != nil {
			delete(m.tracked, pid) // it has ended; its number can be reused
			continue
		}
		m.record(p, label, used.self)
		s.RSS[label] += residentSize(pid)
	}
	all := m.samplePostgres()
	for p, used := range m.seen {
		s.CPU[m.labels[p]] += used
	}
	var attributed time.Duration
	for label, used := range s.CPU {
		if isPostgres(label) && label != LabelBackground {
			attributed += used
		}
	}
	s.CPU[LabelBackground] = max(all-attributed, 0)
	m.samples = append(m.samples, s)
	return s
}

func (m *Meter) record(p process, label string, used time.Duration) {
	m.seen[p] = used
	m.labels[p] = label
}

// samplePostgres attributes connections to their databases, and returns the usage of the whole server, including ended
// processes.
func (m *Meter) samplePostgres() time.Duration {
	_, used, err := readProcess(m.postmaster)
	if err != nil {
		return 0
	}
	all := used.self + used.ended
	for _, pid := range children(m.postmaster) {
		p, used, err := readProcess(pid)
		if err != nil {
			continue
		}
		all += used.self
		if database, ok := databaseOf(pid); ok {
			m.record(p, DatabaseLabel(database), used.self)
		}
	}
	return all
}

// Between returns the samples of an interval.
func (m *Meter) Between(from, to time.Time) []Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	var some []Sample
	for _, s := range m.samples {
		if !s.At.Before(from) && !s.At.After(to) {
			s.CPU, s.RSS = maps.Clone(s.CPU), maps.Clone(s.RSS)
			some = append(some, s)
		}
	}
	return some
}
