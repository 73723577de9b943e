package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/postgres"
)

const selectLimits = `SELECT id, version, name, settings FROM destinations WHERE id = ANY ($1::bigint[])`

// limits holds a destination's settings for its queue.
type limits struct {
	version  int64
	name     string
	inFlight int
	failures int           // consecutive failures that open the breaker
	probes   int           // successful probes that close it
	open     time.Duration // how long it stays open
	timeout  time.Duration // of one attempt
	spacing  time.Duration // minimum time between the starts of two attempts; 0 means no limit
}

func limitsOf(version int64, name string, settings []byte) limits {
	var d delivery.Destination
	// Unreadable settings get the defaults here; each attempt then reports them.
	_ = json.Unmarshal(settings, &d)
	l := limitsFrom(d)
	l.version, l.name = version, name
	return l
}

func limitsFrom(d delivery.Destination) limits {
	standard := delivery.DefaultBreaker()
	l := limits{
		inFlight: max(1, cmp.Or(d.InFlight, delivery.DefaultInFlight)),
		failures: max(1, cmp.Or(d.Breaker.Failures, standard.Failures)),
		probes:   max(1, cmp.Or(d.Breaker.Probes, standard.Probes)),
		open:     time.Duration(cmp.Or(d.Breaker.Open, standard.Open)),
		timeout:  time.Duration(cmp.Or(d.Timeout, delivery.DefaultTimeout)),
	}
	if r := d.Rate; r != nil && r.Requests > 0 && r.Per > 0 {
		l.spacing = r.Spacing()
	}
	return l
}

// knownLimits caches limits by destination and version. Callers name the version, so no entry is ever stale.
type knownLimits struct {
	mu sync.Mutex
	of map[int64]limits
}

func (k *knownLimits) get(id, version int64) (l limits, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, ok = k.of[id]
	return l, ok && l.version == version
}

func (k *knownLimits) put(id int64, l limits) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[int64]limits{}
	}
	k.of[id] = l
}

// limitsFor returns the limits of destinations for the given versions.
func (s *Store) limitsFor(ctx context.Context, t *postgres.Transaction, versions map[int64]int64) (map[int64]limits, error) {
	all := make(map[int64]limits, len(versions))
	var unknown []int64
	for id, version := range versions {
		l, ok := s.limits.get(id, version)
		if !ok {
			unknown = append(unknown, id)
		}
		all[id] = l
	}
	if len(unknown) == 0 {
		return all, nil
	}
	b := &pgx.Batch{}
	var id, version int64
	var name string
	var settings []byte
	b.Queue(selectLimits, unknown).Query(postgres.ForEach([]any{&id, &version, &name, &settings}, func() {
		all[id] = limitsOf(version, name, settings)
		s.limits.put(id, all[id])
	}))
	return all, t.Send(ctx, b)
}
