package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

func TestVerifyLedgerRefusals(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")
	_, err := run(t, "verify-ledger", filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "open ledger")
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	r := ledger.Report{Findings: []ledger.Finding{{Invariant: ledger.Lost}, {Invariant: ledger.Recovered, Count: 3}}}
	require.NoError(t, brokenError(r, 0))
	r.Findings[0].Count = 2
	require.EqualError(t, brokenError(r, 0), "lost 2")
	require.ErrorContains(t, brokenError(r, 2), "wait (--settle)")
}
