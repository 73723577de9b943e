package lint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// A shown definition is equivalent to its original.
func TestShownDefinitionsAreDefinitions(t *testing.T) {
	t.Parallel()
	builtIn := catalogueOf(t, secretOfTests)
	dir := t.TempDir()
	for _, name := range builtIn.Names() {
		p, _ := builtIn.Lookup(name)
		text, err := p.Definition()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o600))
	}
	shown, err := providers.Load(dir)
	require.NoError(t, err)
	shown = shown.WithSecrets(secretsOf(secretOfTests)).WithCertificates(auth.TrialCertificates).WithKeySets(auth.TrialKeySets)
	for _, name := range shown.Names() {
		before, _ := builtIn.Lookup(name)
		after, _ := shown.Lookup(name)
		require.Equal(t, definition.OriginBuiltIn, before.Origin())
		require.Equal(t, definition.OriginOverridden, after.Origin())
		first, err := before.Definition()
		require.NoError(t, err)
		second, err := after.Definition()
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		require.Equal(t, before.Paths(), after.Paths())
		for _, eventType := range before.SampleTypes() {
			r := func(p *providers.Provider) Explanation {
				return Explain(p, signedSample(t, p, eventType, "x1"), clock)
			}
			require.Equal(t, r(before), r(after))
		}
	}
}

// The skeleton passes the check, for every name that a provider can have.
func TestSkeletonPassesTheCheck(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"acme", "a-1"} {
		text, err := providers.Skeleton(name)
		require.NoError(t, err)
		checked, err := CheckPath(writeDefinitions(t, map[string]string{name + ".yaml": text}), nil)
		require.NoError(t, err)
		require.Empty(t, checked.Problems())
		require.Equal(t, []string{name}, checked.Names)
	}
	_, err := providers.Skeleton("../acme")
	require.ErrorContains(t, err, "invalid name")
}
