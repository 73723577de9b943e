package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
)

// The cost of one event, in this process and in PostgreSQL, in one transaction or in two: 600 bytes, two entities, one of them
// one of a thousand. The CPU cost is more telling than the time, which is mostly that of the disk.
func BenchmarkEvent(b *testing.B) {
	for _, transactions := range []int{1, 2} {
		for _, callers := range []int{1, 8} {
			name := fmt.Sprintf("transactions=%d/callers=%d", transactions, callers)
			b.Run(name, func(b *testing.B) { benchmarkEvent(b, transactions, callers) })
		}
	}
}

func benchmarkEvent(b *testing.B, transactions, callers int) {
	db := open(b, func(c *persistence.Config) { c.MaxConns = callers })
	body := []byte(`{"id": "evt_1", "data": "` + strings.Repeat("x", 570) + `"}`)
	state := `{"object":"customer","name":"Ada Lovelace","email":"ada@example.com","description":"` + strings.Repeat("y", 200) + `"}`
	one := func() {
		r := receipt()
		p := parsed(snapshot(r.ID, state), snapshot("cus_"+strconv.Itoa(rand.IntN(1000)), state))
		p.OccurredAt = time.Now()
		if transactions == 1 {
			_, err := db.Writer.Write(b.Context(), event.WholeEvent, r, body, p, runOf(r))
			require.NoError(b, err)
			return
		}
		_, err := db.Writer.Write(b.Context(), event.RowOnly, r, body, p, runOf(r))
		require.NoError(b, err)
		require.NoError(b, db.UpsertEntities(b.Context(), r, p, runOf(r)))
	}
	for range 50 * callers {
		one()
	}
	db.exec("ANALYZE")
	postgres, ours, wal := cpuOf(b, db.backends()...), cpuOf(b, os.Getpid()), db.wal()
	b.ResetTimer()
	parallel(callers, b.N, one)
	b.StopTimer()
	perEvent := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(perEvent(cpuOf(b, os.Getpid())-ours), "go-µs/event")
	b.ReportMetric(perEvent(cpuOf(b, db.backends()...)-postgres), "pg-µs/event")
	b.ReportMetric(float64(db.wal()-wal)/float64(b.N), "wal-B/event")
}

// wal returns how many bytes of WAL the server has written.
func (d *database) wal() (n int64) {
	d.t.Helper()
	require.NoError(d.t, d.sql.QueryRow(d.t.Context(), `SELECT pg_current_wal_lsn() - '0/0'`).Scan(&n))
	return n
}

// The cost of a patch that is out of order by 1 to 32 changes, for entities with ten changes, and for one with 300,000. Each op
// is one in order and one out of order.
func BenchmarkLateChange(b *testing.B) {
	for name, opsPerEntity := range map[string]int{"links=10": 5, "links=300000": 1 << 30} {
		b.Run(name, func(b *testing.B) {
			db := newTenant(b, 300_000)
			at := noon
			change := func(id string, at time.Time) {
				p := parsed(patch(id, `{"n":2}`))
				p.OccurredAt = at
				r := receipt()
				_, err := db.Writer.Write(b.Context(), event.WholeEvent, r, body, p, runOf(r))
				require.NoError(b, err)
			}
			for i := 0; b.Loop(); i++ {
				at = at.Add(time.Millisecond)
				id := "tenant"
				if n := i / opsPerEntity; opsPerEntity < 100 {
					id = "young" + strconv.Itoa(n)
				}
				change(id, at)
				change(id, at.Add(-time.Duration(1+rand.IntN(16))*time.Millisecond-time.Microsecond))
			}
		})
	}
}

// parallel runs do n times, from several goroutines.
func parallel(callers, n int, do func()) {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				do()
			}
		})
	}
	all.Wait()
}

// backends returns the processes that serve the database.
func (d *database) backends() (pids []int) {
	d.t.Helper()
	rows, err := d.sql.Query(d.t.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`)
	require.NoError(d.t, err)
	pids, err = pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(d.t, err)
	return pids
}

// cpuOf returns the CPU time of processes, as Linux counts it.
func cpuOf(b *testing.B, pids ...int) (total time.Duration) {
	b.Helper()
	const perTick = 10 * time.Millisecond
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(b, err)
		_, rest, _ := strings.Cut(string(stat), ") ")
		for _, ticks := range strings.Fields(rest)[11:13] {
			n, err := strconv.Atoi(ticks)
			require.NoError(b, err)
			total += time.Duration(n) * perTick
		}
	}
	return total
}
