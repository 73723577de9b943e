package chaos

import (
	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
	"holdfast/persistence"
)

// verify makes the same checks of the database as `holdfast verify-ledger`.
func (w *world) verify(l ledger.Ledger) ledger.Report {
	w.t.Helper()
	store, err := persistence.Open(w.t.Context(), persistence.Config{URL: w.sql.url(w.name), MaxConns: 2})
	require.NoError(w.t, err)
	defer store.Close()
	found, err := store.Ledgers.CheckLedger(w.t.Context(), l)
	require.NoError(w.t, err)
	return found
}
