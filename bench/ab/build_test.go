package ab

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/bench/lab"
	"holdfast/internal/ledger"
)

// An event that was acknowledged and hasn't arrived makes the figures of a build worthless. A refused one may be missing.
func TestABuildDeliversWhatItAcknowledges(t *testing.T) {
	endpoint, err := lab.NewEndpoint(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, endpoint.Close()) })
	endpoint.ByBody = true
	b := &build{name: "now", endpoint: endpoint}

	path := filepath.Join(t.TempDir(), "ledger")
	w, err := ledger.Open(path, ledger.Run{ID: "r"})
	require.NoError(t, err)
	for i, status := range []int{http.StatusAccepted, http.StatusServiceUnavailable} {
		events := []ledger.Event{{Provider: "stripe", Key: []string{"evt_1", "evt_2"}[i]}}
		require.NoError(t, w.Sending(int64(i), time.Now(), ledger.KindEvent, events))
		require.NoError(t, w.Answered(int64(i), status, time.Millisecond))
	}
	require.NoError(t, w.Close())

	endpoint.Remember()
	_, err = b.waits(path)
	require.ErrorContains(t, err, "event evt_1 was acknowledged and didn't arrive")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint.URL, strings.NewReader(`{"id":"evt_1"}`))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	waits, err := b.waits(path)
	require.NoError(t, err)
	require.Len(t, waits, 1)
}
