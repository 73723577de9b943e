package operator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
)

// One entry of the error log is found by its number, and a report has the requested period.
func TestOneErrorAndAReport(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	require.Contains(t, string(ask(t, "GET", base+"/errors/7", "").body), `"id":7`)
	require.Equal(t, 404, ask(t, "GET", base+"/errors/8", "").status, "the entry before it isn't meant")
	require.Equal(t, 400, ask(t, "GET", base+"/errors/x", "").status)

	require.Equal(t, 200, ask(t, "GET", base+"/report?window=7d", "").status)
	require.Equal(t, 7*24*time.Hour, behind.report[1].Sub(behind.report[0]))
	require.Equal(t, 200, ask(t, "GET", base+"/report", "").status)
	require.Equal(t, 24*time.Hour, behind.report[1].Sub(behind.report[0]))
	require.Equal(t, 400, ask(t, "GET", base+"/report?window=32d", "").status)
}
