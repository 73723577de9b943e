package phases

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/program"
)

// The text that each ablation removes must be in the source, and the rest must compile with all of them applied.
func TestOmittedValuesAreInTheSource(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped: with -short, the product is not compiled again")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var all []program.Edit
	for _, l := range ablations {
		require.NotEqual(t, len(l.edits) > 0, len(l.environ) > 0, l.name)
		all = append(all, l.edits...)
	}
	require.NoError(t, program.Compile(t.Context(), root, t.TempDir(), all...))

	err = program.Compile(t.Context(), root, t.TempDir(), without(startFile, "nothing of the kind", ""))
	require.ErrorContains(t, err, "0 times")
}
