package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page's steps work exactly as written: a fake Stripe never sends 14 of 100 events, a dry run names them, they are recovered,
// and a late delivery is a duplicate. The other roles have no such fake.
func TestMissedEventsAreRecoveredByThePage(t *testing.T) {
	t.Parallel()
	d := newDev(t)
	f := &follower{dir: filepath.Dir(d.dir()), env: d.env}
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "bin"), 0o750))
	require.NoError(t, os.Symlink(holdfast, filepath.Join(f.dir, "bin", "holdfast")))
	var n *node
	for _, step := range stepsOf(t, "docs/recover.md", "Try it") {
		switch {
		case step.language == "text":
			f.sees(t, step.text)
		case strings.HasPrefix(step.text, "make run "):
			n = d.start(t, flagsOfMake(t, strings.Fields(step.text)[1:]...)...)
		default:
			f.run(t, step.text)
		}
		if strings.Contains(step.text, "--dry-run") && !strings.Contains(f.seen, "100 known") {
			require.Equal(t, 14, strings.Count(f.seen, "stripe:evt_"), f.seen)
		}
	}
	require.NotNil(t, n, "the page starts Holdfast")
	require.Contains(t, n.log.String(), "recover stripe --since 48h --dry-run", "the screen names the commands as well")

	command := exec.Command(holdfast, "dev", "--fake-stripe")
	command.Env = append(slices.Clone(d.env), "STRIPE_API_KEY=rk_test_of_somebody")
	out, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "unset STRIPE_API_KEY")
	for _, role := range []string{"serve", "worker", "ingress", "operator"} {
		out, err := d.run(t, role, "--fake-stripe")
		require.Error(t, err)
		require.Contains(t, out, "unknown flag", role)
	}
}

// flagsOfMake returns the flags of `holdfast dev` that make runs.
func flagsOfMake(t *testing.T, args ...string) []string {
	t.Helper()
	command := exec.Command("make", append([]string{"--just-print"}, args...)...)
	command.Dir = root
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	_, flags, ok := strings.Cut(string(out), "exec bin/holdfast dev")
	require.True(t, ok, string(out))
	return strings.Fields(flags)
}
