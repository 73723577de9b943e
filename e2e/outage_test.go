package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// PostgreSQL is away for 20 s under load:
//   - the ingress goes on accepting
//   - no event uses up its attempts: there is no dead letter
//   - everything that was accepted is processed once it is back
func TestPostgresIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewCluster(t)
	require.NoError(t, alone.Template(func(url string) error { return migrations.Up(context.Background(), url) }))
	i := &installation{database: alone.Database(t), namespace: createNamespace(t)}
	out, err := i.run(t, "migrate")
	require.NoError(t, err, out)
	n := i.start(t, "serve")

	load := startLoad(n, 4)
	eventually(t, time.Minute, "the load is running", func() error { return load.atLeast(20) })
	require.NoError(t, alone.Stop())
	before := load.accepted.Load()
	time.Sleep(20 * time.Second) // the outage that is asked for
	during := load.accepted.Load() - before
	require.NoError(t, alone.Start())
	load.stop()

	require.Positive(t, during, "events were accepted without the database")
	require.Zero(t, load.other.Load())
	accepted := int(load.accepted.Load())
	eventually(t, 3*time.Minute, "every accepted event is processed", func() error {
		var processed int
		if err := i.tryQuery(processedEvents, nil, &processed); err != nil {
			return err
		}
		return atLeast(processed, accepted)
	})
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"), "no event was given up")
	t.Logf("%d events accepted, %d of them without a database; %d refused with 503", accepted, during, load.unavailable.Load())
}
