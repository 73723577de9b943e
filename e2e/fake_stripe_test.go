package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/program"
)

// The page's steps work exactly as written: a fake Stripe never sends 14 of 100 events, a dry run names them, they are recovered,
// and a late delivery is a duplicate.
func TestMissedEventsAreRecoveredByThePage(t *testing.T) {
	t.Parallel()
	d := newDev(t)
	f := &follower{dir: filepath.Dir(d.dir()), env: d.env}
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "bin"), 0o750))
	require.NoError(t, os.Symlink(holdfast, filepath.Join(f.dir, "bin", "holdfast")))
	demo := filepath.Join(filepath.Dir(holdfast), "fake-stripe") // next to temporal
	require.NoError(t, program.BuildModule(t.Context(), filepath.Join(root, "tools", "fakestripe"), demo, "."))
	var n *node
	for _, step := range stepsOf(t, "docs/recover.md", "Try it") {
		switch {
		case step.language == "text":
			f.sees(t, step.text)
		case step.text == "make demo\n":
			n = d.startProgram(t, demo, "--verbose")
		default:
			f.run(t, step.text)
		}
		if strings.Contains(step.text, "--dry-run") && !strings.Contains(f.seen, "100 known") {
			require.Equal(t, 14, strings.Count(f.seen, "stripe:evt_"), f.seen)
		}
	}
	require.NotNil(t, n, "the page starts Holdfast")
	require.Contains(t, n.log.String(), "holdfast recover stripe --since 48h --dry-run", "the screen names the commands as well")

	command := exec.Command(demo)
	command.Env = append(slices.Clone(d.env), "STRIPE_API_KEY=rk_test_of_somebody")
	out, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "unset STRIPE_API_KEY")
}
