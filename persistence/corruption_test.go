package persistence_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// damage flips bits in the first page of a table or index, and returns when the server has restarted.
func damage(t *testing.T, c *stacktest.Cluster, d *database, relation string) {
	t.Helper()
	d.exec(`CHECKPOINT`)
	path := c.File(value[string](d, `SELECT pg_relation_filepath($1)`, relation))
	require.NoError(t, c.Stop())
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	page := make([]byte, 8192)
	_, err = file.ReadAt(page, 0)
	require.NoError(t, err)
	page[len(page)-100] ^= 0x10
	_, err = file.WriteAt(page, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, c.Start())
	again := openURL(t, d.url) // the restart has ended the connections of the pool
	d.Store, d.sql = again.Store, again.sql
}

// A page that fails its checksum decides about no event: those that need it are retried, and the others go on.
func TestADamagedPageDecidesAboutNoEvent(t *testing.T) {
	t.Parallel()
	c := stacktest.NewCluster(t)
	url := c.Database(t)
	require.NoError(t, migrations.Up(t.Context(), url))
	d := openURL(t, url)
	for i := range 200 {
		d.process(receipt(), parsed(snapshot(fmt.Sprint("thing", i), `{"text":"`+incompressible(200)+`"}`)))
	}
	damage(t, c, d, "entities")

	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			r, p := receipt(), parsed() // a new entity might find room in the damaged page
			if i == 10 {
				p = parsed(patch("thing0", `{"on":"top"}`))
			}
			_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
			if i != 10 {
				return err
			}
			if event.ClassOf(err) != event.ClassTransient || event.CodeOf(err) != "data_corrupted" {
				return fmt.Errorf("the event that needs the page: %w", err)
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())

	f, err := d.Read.Facts(t.Context())
	require.NoError(t, err)
	require.Equal(t, "on", f.Settings["data_checksums"])
	require.Positive(t, f.DamagedPages)
	require.NotNil(t, f.DamagedAt)
}

// Damaged data alerts operators, although it is an error that passes, which otherwise doesn't.
func TestDamagedDataAlertsOperators(t *testing.T) {
	t.Parallel()
	d := open(t)
	entry := oversight.ErrorEntry{At: noon, Phase: event.PhasePersist, Class: event.ClassTransient, Code: "connection_lost"}
	damaged := entry
	damaged.Code = "data_corrupted"
	require.NoError(t, d.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{entry, damaged}))
	_, alerts, err := d.Errors.ClaimAlerts(t.Context())
	require.NoError(t, err)
	require.Len(t, alerts, 1)
	require.Equal(t, "data_corrupted", alerts[0].Code)
}
