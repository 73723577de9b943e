package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

const (
	// countedEvents are sent one after the other.
	countedEvents = 50
	// restTime is how long the process is counted without events: what it does then anyway is left out.
	restTime = 6 * time.Second

	deliveredEvents = "SELECT count(*) FROM deliveries WHERE status = 'delivered'"
)

// An event's statements, transactions that write, and history are exact; its bytes may differ by a tenth. To add to them takes a
// reason and a new row in docs/internals/measurements.md.
func TestCountsOfAnEvent(t *testing.T) {
	t.Parallel()
	c := startCounting(t)
	c.send(t, 5, processedEvents)
	c.rest(t)
	c.send(t, countedEvents, processedEvents).require(t, counts{statements: 10, writes: 1, wal: 4090})

	out, err := c.run(t, "subscription", "create", "crm", "--url", newEndpoint(t).URL)
	require.NoError(t, err, out)
	c.send(t, 5, deliveredEvents)
	c.rest(t)
	c.send(t, countedEvents, deliveredEvents).require(t, counts{statements: 15, writes: 2, wal: 5690})

	run := c.describe(t, c.lastWorkflow)
	require.EqualValues(t, 8, run.GetHistoryLength())
	require.InEpsilon(t, 3600, run.GetHistorySizeBytes(), 0.1)
}

// counts are an event's, in the product's database. Statements are without those that begin and end a transaction.
type counts struct {
	statements, writes, wal float64
	list                    string // of the statements
}

func (c counts) require(t *testing.T, want counts) {
	t.Helper()
	require.InDelta(t, want.statements, c.statements, 0, c.list)
	require.InDelta(t, want.writes, c.writes, 0, "transactions that write")
	require.InEpsilon(t, want.wal, c.wal, 0.1, "bytes of WAL: %s", c.list)
}

// counting is an installation on a PostgreSQL of its own, which counts.
type counting struct {
	*installation

	node *node
	// conn's own statements aren't counted.
	conn         *pgx.Conn
	idle         usage // of restTime
	lastWorkflow string
}

func startCounting(t *testing.T) *counting {
	t.Helper()
	server := stacktest.NewClusterWith(t, map[string]string{
		"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_utility": "off", "autovacuum": "off",
	})
	dir := t.TempDir()
	// A process leases a share of a rate, which is enough for one event or for some.
	definition := "name: stripe\nextends: stripe\nrate: null\nclient_rate: null\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stripe.yaml"), []byte(definition), 0o644))
	c := &counting{installation: installationOn(t, server.Database(t), "HOLDFAST_PROVIDERS_DIR="+dir,
		"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")}
	out, err := c.run(t, "migrate")
	require.NoError(t, err, out)
	config, err := pgx.ParseConfig(c.database)
	require.NoError(t, err)
	config.RuntimeParams["pg_stat_statements.track"] = "none"
	c.conn, err = pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.conn.Close(context.Background()) })
	_, err = c.conn.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements")
	require.NoError(t, err)
	c.node = c.start(t, "serve")
	return c
}

// usage is what the database did in a time: how often each statement ran, how many transactions wrote, and the bytes of WAL.
type usage struct {
	length      time.Duration
	calls       map[string]float64
	writes, wal float64
}

// during counts while f runs.
func (c *counting) during(t *testing.T, f func()) usage {
	t.Helper()
	const written = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float, pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
	u := usage{calls: map[string]float64{}}
	var writes, wal float64
	_, err := c.conn.Exec(t.Context(), "SELECT pg_stat_statements_reset()")
	require.NoError(t, err)
	require.NoError(t, c.conn.QueryRow(t.Context(), written).Scan(&writes, &wal))
	begun := time.Now()
	f()
	u.length = time.Since(begun)
	require.NoError(t, c.conn.QueryRow(t.Context(), written).Scan(&u.writes, &u.wal))
	u.writes, u.wal = u.writes-writes, u.wal-wal
	rows, _ := c.conn.Query(t.Context(), "SELECT query, sum(calls)::float FROM pg_stat_statements GROUP BY query")
	var query string
	var calls float64
	_, err = pgx.ForEachRow(rows, []any{&query, &calls}, func() error {
		u.calls[query] = calls
		return nil
	})
	require.NoError(t, err)
	return u
}

func (c *counting) rest(t *testing.T) {
	t.Helper()
	c.idle = c.during(t, func() { time.Sleep(restTime) })
}

// send sends events, each when the one before has had its effect, and returns the counts of an event.
func (c *counting) send(t *testing.T, events int, effects string) counts {
	t.Helper()
	var before int
	require.NoError(t, c.conn.QueryRow(t.Context(), effects).Scan(&before))
	u := c.during(t, func() {
		for k := range events {
			sent := c.node.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
			c.lastWorkflow = sent.Events[0].WorkflowID
			eventually(t, time.Minute, effects, func() error {
				var now int
				err := c.conn.QueryRow(t.Context(), effects).Scan(&now)
				if err == nil && now <= before+k {
					err = errors.New("not yet")
				}
				return err
			})
		}
	})
	each := func(of, idle float64) float64 {
		return (of - idle*float64(u.length)/float64(restTime)) / float64(events)
	}
	got := counts{writes: math.Round(each(u.writes, c.idle.writes)), wal: each(u.wal, c.idle.wal)}
	var list strings.Builder
	for _, query := range slices.Sorted(maps.Keys(u.calls)) {
		if n := math.Round(each(u.calls[query], c.idle.calls[query])); n > 0 {
			got.statements += n
			fmt.Fprintf(&list, "%g × %s\n", n, query)
		}
	}
	got.list = list.String()
	return got
}
