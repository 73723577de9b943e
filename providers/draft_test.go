package providers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/definition"
)

// A draft that isn't YAML is refused, also if a built-in definition has its name; an error in another file isn't the draft's.
func TestADraftHasTheErrorsOfItsFile(t *testing.T) {
	t.Parallel()
	dir := writeDefinitions(t, map[string]string{"stripe.yaml": "extends: stripe\nbody_limit: 1000\n", "acme.yaml": minimal})
	live, err := LoadLive(dir, secretsOf(secretOfTests), nil, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte("a: [unclosed\n"), 0o600))
	p, _ := live.Lookup("stripe")
	_, err = live.Draft(p, []byte("extends: [unclosed\nbody_limit: 1000\n"))
	require.ErrorContains(t, err, "stripe.yaml: not YAML")
	require.Len(t, definition.Errors(err), 1)
	draft, err := live.Draft(p, []byte("extends: stripe\nbody_limit: 2000\n"))
	require.NoError(t, err)
	require.NotEqual(t, p.Digest(), draft.Digest())
}

// The file of a draft may be removed meanwhile, or its folder.
func TestADraftWithoutAFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"acme.yaml", "stripe.yaml"} {
		text := minimal
		if file == "stripe.yaml" {
			text = "extends: stripe\nbody_limit: 1000\n"
		}
		dir := writeDefinitions(t, map[string]string{file: text})
		live, err := LoadLive(dir, secretsOf(secretOfTests), nil, nil)
		require.NoError(t, err)
		p, _ := live.Lookup(definition.NameOf(file))
		for range 2 {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, file)))
			draft, err := live.Draft(p, []byte(text))
			require.ErrorContains(t, err, file+": was removed or can't be read")
			require.Nil(t, draft)
			require.NoError(t, os.RemoveAll(dir))
		}
	}
}
