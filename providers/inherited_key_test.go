package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// A definition extends one whose key is guessed:
//   - if it has parts of its own and doesn't state their certainty, the parts are the key, as before certainty existed
//   - otherwise it inherits the key
func TestAnExtendedDefinitionKeepsItsOwnKey(t *testing.T) {
	t.Parallel()
	c, err := Load(writeDefinitions(t, map[string]string{
		"base.yaml": strings.NewReplacer("name: acme", "name: base", "key: {parts: [.body.id]}",
			"key: {certainty: guessed, in_doubt: hold, retry_span: 1h, parts: [.body.n]}").Replace(minimal),
		"own.yaml":  "name: own\nextends: base\nkey: {parts: [.body.id]}\n",
		"same.yaml": "name: same\nextends: base\npriority: high\n",
	}))
	require.NoError(t, err)
	keys := map[string]string{}
	for _, name := range []string{"own", "same"} {
		p, _ := c.Lookup(name)
		items, err := p.Split(&auth.Request{Body: []byte(`{"id":"one","n":7}`)})
		require.NoError(t, err)
		keys[name] = items[0].Key
		require.Equal(t, name == "same", items[0].Content != "")
	}
	require.Equal(t, "one", keys["own"])
	require.True(t, strings.HasPrefix(keys["same"], "7:"), keys["same"])
	require.Equal(t, event.Duration(2*time.Hour), mustWindow(t, c, "same"))
}

func mustWindow(t testing.TB, c *Catalogue, name string) event.Duration {
	t.Helper()
	p, _ := c.Lookup(name)
	items, err := p.Split(&auth.Request{Body: []byte(`{"n":7}`)})
	require.NoError(t, err)
	return items[0].DedupeWindow
}
