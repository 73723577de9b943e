package phases

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/bench/lab"
)

// A drain is timed from its own first delivery, even if others came before.
func TestADrainIsTimedFromItsFirstDelivery(t *testing.T) {
	t.Parallel()
	r, err := lab.NewEndpoint(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	post := func(id string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Holdfast-Event-Id", id)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	post("earlier")
	began := time.Now()
	r.Remember()
	post("first")
	post("second")
	require.NoError(t, untilArrived(t.Context(), r, 3))
	_, last := r.Count()
	took := timeOf(r.Remember(), 2)
	require.Positive(t, took)
	require.LessOrEqual(t, took, last.Sub(began))
}
