package chaos

import (
	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/persistence"
)

// verify makes the same checks of the database as `holdfast-bench verify-ledger`.
func (w *world) verify(l ledger.Ledger) ledger.Report {
	w.t.Helper()
	found, err := check.Ledger(w.t.Context(), persistence.Config{URL: w.sql.url(w.name)}, l)
	require.NoError(w.t, err)
	return found
}
