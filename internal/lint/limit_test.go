package lint_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/lint"
	"holdfast/providers"
)

// The definitions are judged without their secrets, which aren't at fault.
func TestProblemsAreNotOfSecrets(t *testing.T) {
	t.Parallel()
	live, err := providers.LoadLive("", nil, nil, nil)
	require.NoError(t, err)
	for _, name := range []string{"stripe", "github", "gitlab", "adyen"} {
		p, ok := live.Lookup(name)
		require.True(t, ok, name)
		found, _ := lint.Problems(p, 0)
		require.Empty(t, found)
	}
}

// Without the time to run all samples, nothing is reported that the other samples could refute.
func TestSamplesAreRunWithinALimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte("name: acme\nsecrets: ACME_SECRET\n"+
		"auth: [{token: {in: header, name: x-token}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n"+
		"entities: [{kind: order, id: .body.ordr, op: patch}]\n"+
		"samples: {order.paid: {body: '{id: .id, type: \"order.paid\", order: \"o1\"}'}}\n"), 0o600))
	live, err := providers.LoadLive(dir, nil, nil, nil)
	require.NoError(t, err)
	p, _ := live.Lookup("acme")
	unapplied := func(found []lint.Finding) (n int) {
		for _, f := range found {
			if f.Rule == lint.RuleUnapplied {
				n++
			}
		}
		return n
	}
	for _, limit := range []time.Duration{0, time.Hour} {
		found, all := lint.Problems(p, limit)
		require.True(t, all)
		require.Equal(t, 1, unapplied(found))
	}
	found, all := lint.Problems(p, time.Nanosecond)
	require.False(t, all)
	require.Empty(t, unapplied(found))
}
