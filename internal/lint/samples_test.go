package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
)

// A valid definition with which every event would fail isn't reloaded:
//   - a sample that becomes a dead letter, or two that share a key, keep the old definitions
//   - existing failures don't block the correction of another file
//   - a start accepts everything, since the other providers need it
func TestReloadRunsTheSamples(t *testing.T) {
	t.Parallel()
	const good = minimal + `
samples:
  order.paid: {body: '{id: .id, type: "order.paid"}'}
`
	dead := strings.Replace(good, "type: .body.type", "type: .body.type.name", 1)
	shared := strings.Replace(good, "[.body.id]", "[.body.type]", 1)
	require.NotEqual(t, good, dead)
	unknown := strings.Replace(good, "type: .body.type", `type: '"unknown"'`, 1)
	require.NotEqual(t, good, shared)
	require.NotEqual(t, good, unknown)
	dir := writeDefinitions(t, map[string]string{"acme.yaml": good})
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	live, err := providers.LoadLive(dir, nil, nil, nil)
	require.NoError(t, err)
	before := live.Catalogue()
	require.Empty(t, FailingSamples(before))

	write("acme.yaml", dead)
	require.ErrorContains(t, live.Reload(Regression), `acme.yaml: samples["order.paid"]: becomes a dead letter`)
	write("acme.yaml", shared)
	require.ErrorContains(t, live.Reload(Regression), `acme.yaml: samples["order.paid"]: two events of it`)
	write("acme.yaml", unknown)
	require.ErrorContains(t, live.Reload(Regression), `acme.yaml: samples["order.paid"]: is of type unknown`)
	require.Same(t, before, live.Catalogue())

	write("acme.yaml", dead)
	restarted, err := providers.LoadLive(dir, nil, nil, nil)
	require.NoError(t, err)
	require.Len(t, FailingSamples(restarted.Catalogue()), 1)
	write("beta.yaml", strings.Replace(good, "name: acme", "name: beta", 1))
	require.NoError(t, restarted.Reload(Regression))
	_, ok := restarted.Lookup("beta")
	require.True(t, ok)
	write("acme.yaml", good)
	require.NoError(t, restarted.Reload(Regression))
	require.Empty(t, FailingSamples(restarted.Catalogue()))
}

// A rule whose path gives null in the sample that it is for is found after a reload, which accepts it; advice isn't.
func TestUnappliedRulesAreFound(t *testing.T) {
	t.Parallel()
	const good = minimal + `
entities:
  - {kind: order, id: .body.order, op: patch}
  - {kind: refund, types: [order.refunded], id: .body.refund, op: patch}
samples:
  order.paid: {body: '{id: .id, type: "order.paid", order: "o1"}'}
`
	found := func(text string) (texts []string) {
		c, err := providers.Load(writeDefinitions(t, map[string]string{"acme.yaml": text}))
		require.NoError(t, err)
		p, _ := c.Lookup("acme")
		for _, f := range Unapplied(p, 0) {
			texts = append(texts, f.String())
		}
		return texts
	}
	require.Empty(t, found(good), "no sample is for the second rule")
	require.Equal(t, []string{`acme.yaml: entities[0]: applies to no sample: in "order.paid", .body.ordr gave null [unapplied]`},
		found(strings.Replace(good, ".body.order,", ".body.ordr,", 1)))
}
