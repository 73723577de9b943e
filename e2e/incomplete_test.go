package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An event is expunged whose row and whose earlier changes were purged:
//   - the plan names the entity, and says whether it would be recomputed from the archive or incomplete
//   - with the archive it gets the state after the previous event; without, it stays, and is shown as incomplete
func TestAnExpungeAfterAPurge(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string][]string{
		"with an archive": {"HOLDFAST_ARCHIVE=file://" + filepath.Join(t.TempDir(), "archive")}, "without": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t, append(variables, "HOLDFAST_RETENTION_EVENTS=1ms")...)
			n := i.start(t, "serve")
			customer, last := uniqueID("cus"), uniqueID("evt")
			now := time.Now()
			n.send(t, customerUpdated(uniqueID("evt"), customer, "Ada", now.Add(-2*time.Minute)))
			n.send(t, customerUpdated(last, customer, "hush-hush", now.Add(-time.Minute)))
			i.awaitCount(t, time.Minute, 2, processedEvents)
			i.age(t, 26*time.Hour)
			out, err := i.run(t, "purge")
			require.NoError(t, err, out)
			require.Zero(t, i.count(t, "SELECT count(*) FROM events"))

			of := "entity stripe customer " + customer
			out, err = i.run(t, "purge", "--expunge", "stripe:"+last, "--dry-run")
			require.NoError(t, err, out)
			planned, after := of+" would be incomplete", of+" is incomplete"
			if variables != nil {
				planned, after = of+" would be recomputed from the archive", of+" was recomputed from the archive"
			}
			require.Contains(t, out, planned)
			require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE state::text LIKE '%hush-hush%'"), "nothing was done")
			out, err = i.run(t, "purge", "--expunge", "stripe:"+last, "--reason", "asked by the customer")
			require.NoError(t, err, out)
			require.Contains(t, out, after)
			require.Zero(t, i.count(t, "SELECT count(*) FROM entities AS e WHERE e::text LIKE '%hush-hush%'"))

			out, err = i.run(t, "entity", "show", "stripe", "customer", customer)
			require.NoError(t, err, out)
			listed, err := i.run(t, "entity", "list", "--json")
			require.NoError(t, err, listed)
			if variables != nil {
				require.Contains(t, out, "Ada")
				require.NotContains(t, out+listed, "incomplete")
				return
			}
			require.Contains(t, out, customer+" (incomplete)")
			require.Contains(t, listed, `"incomplete": true`)
		})
	}
}
