package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/internal/devstack"
)

// restTime is how long everything is counted without load: what it uses then is left out of the counts of an event.
const restTime = 20 * time.Second

// The figures of usage.
const (
	statements = iota
	pages
	wal
	lockWaits
	allocations
	figuresOfUsage
)

var usageNames = [figuresOfUsage]string{"statements", "pages", "bytes of WAL", "waits for a lock", "allocations"}

// usage is what the database and the processes have used since they started, or of that in a time.
type usage struct {
	at time.Time
	of [figuresOfUsage]float64
}

// countWaits makes the server log each wait for a lock of more than a millisecond.
const countWaits = `ALTER DATABASE %[1]s SET log_lock_waits = on; ALTER DATABASE %[1]s SET deadlock_timeout = '1ms'`

const selectUsage = `
SELECT ARRAY[sum(calls), sum(shared_blks_hit + shared_blks_read), sum(wal_bytes)]::float8[] FROM pg_stat_statements
 WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`

func (w *world) use(ctx context.Context) (u usage, err error) {
	var counted []float64
	if err := w.Lab.Ask(ctx, "postgres", &counted, selectUsage, w.database); err != nil {
		return u, err
	}
	copy(u.of[:], counted)
	log, err := os.ReadFile(filepath.Join(w.Dir, devstack.PostgresDir, "postgres.log"))
	if err != nil {
		return u, err
	}
	u.of[lockWaits] = float64(bytes.Count(log, []byte(" still waiting for ")))
	for _, n := range w.nodes {
		more, err := metricOf(ctx, n, "go_memstats_mallocs_total")
		if err != nil {
			return u, err
		}
		u.of[allocations] += more
	}
	u.at = time.Now()
	return u, nil
}

// metricOf returns the value of a metric without labels.
func metricOf(ctx context.Context, n *lab.Node, name string) (float64, error) {
	page, err := n.Get(ctx, n.Operator+"/metrics")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(page)
	if found == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// rest counts the world without load, and returns what it uses in a minute.
func (w *world) rest(ctx context.Context) (usage, error) {
	before, err := w.use(ctx)
	if err != nil {
		return before, err
	}
	if err := suite.Pause(ctx, restTime); err != nil {
		return before, err
	}
	after, err := w.use(ctx)
	w.idle = after.less(before, 1)
	return after.less(before, float64(after.at.Sub(before.at))/float64(time.Minute)), err
}

// each returns what each of n used while f ran, without what the world uses at rest in the same time.
func (w *world) each(ctx context.Context, n int, f func() error) (usage, error) {
	before, err := w.use(ctx)
	if err != nil {
		return before, err
	}
	if err := f(); err != nil {
		return before, err
	}
	if err := suite.Rest(ctx); err != nil {
		return before, err
	}
	after, err := w.use(ctx)
	u, share := after.less(before, 1), float64(after.at.Sub(before.at))/float64(restTime)
	for i := range u.of {
		u.of[i] = (u.of[i] - w.idle.of[i]*share) / float64(n)
	}
	return u, err
}

// less returns the difference to an earlier moment, by n.
func (u usage) less(before usage, n float64) usage {
	for i := range u.of {
		u.of[i] = (u.of[i] - before.of[i]) / n
	}
	return u
}

// grows is how many times as much something may use that ought to be the same in the large arrangement.
const grows = 1.25

// compare adds the figures of something in a small arrangement and in a large one.
func compare(s *suite.Suite, what, large string, few, many usage, goals ...int) {
	for i, name := range usageNames {
		var goal *figures.Goal
		for _, g := range goals {
			if g == i {
				goal = figures.AtMost(grows)
			}
		}
		s.Value(fmt.Sprintf("%s of %s", name, what), "", nil, few.of[i])
		s.Value(fmt.Sprintf("%s of %s, %s", name, what, large), "", nil, many.of[i])
		if few.of[i] > 0 && goal != nil {
			s.Value(fmt.Sprintf("%s of %s, %s / small", name, what, large), "", goal, many.of[i]/few.of[i])
		}
	}
}
