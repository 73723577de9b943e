package persistencetest

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Spool stores n events in a lane of the inbox.
func (d *Database) Spool(lane event.Lane, n int) (receipts []event.Receipt) {
	d.T.Helper()
	w := d.Inbox.NewInboxWriter()
	for range n {
		r := Receipt()
		stored, err := w.Spool(d.T.Context(), lane, r, Body, false)
		require.NoError(d.T, err)
		require.True(d.T, stored)
		receipts = append(receipts, r)
	}
	return receipts
}

// SettleAll settles every row of a drain with the same result, and appends it to seen.
func SettleAll(s event.StartOutcome, seen *[]event.Waiting) func(context.Context, []event.Waiting) []event.StartOutcome {
	return func(_ context.Context, rows []event.Waiting) []event.StartOutcome {
		*seen = append(*seen, rows...)
		return slices.Repeat([]event.StartOutcome{s}, len(rows))
	}
}

// Copied returns an event with a copy in the inbox, which is due after delay.
func (d *Database) Copied(delay time.Duration) event.Receipt {
	d.T.Helper()
	r := Receipt()
	r.Copied = true
	require.NoError(d.T, d.Inbox.NewInboxWriter().Copy(d.T.Context(), r, Body, delay))
	return r
}

// Copies returns how many copies the inbox has.
func (d *Database) Copies() int {
	return Value[int](d, `SELECT count(*) FROM inbox WHERE lane = 'copy'`)
}
