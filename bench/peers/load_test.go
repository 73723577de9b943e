package peers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/bench/loadgen"
)

// The load for every system carries the same event: of the same size, with an ID that the arrivals server finds.
func TestEverySystemGetsAnEventOfTheSameSize(t *testing.T) {
	t.Parallel()
	r := &runner{}
	require.NoError(t, r.readDefinitions(t.TempDir()))
	for _, provider := range []string{
		providerEvents, providerBulk, providerEvents100, providerBulk100, providerConvoy,
		providerOutpost + "-" + outpostOne, providerOutpost + "-" + outpostMany,
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			event, header, s := sendOne(t, r, provider)
			require.InDelta(t, bodySize, len(event), 10)
			require.Len(t, s.acked, 1)
			require.Contains(t, s.acked, string(idPattern.Find(event)))
			require.True(t, header.Get("Stripe-Signature") != "" || header.Get("X-Signature") != "" || header.Get("Authorization") != "")
		})
	}
}

// sendOne returns the event of a request, without what Outpost's API wraps around it.
func sendOne(t *testing.T, r *runner, provider string) (event []byte, header http.Header, s *sent) {
	t.Helper()
	var once sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		once.Lock()
		defer once.Unlock()
		event, _ = io.ReadAll(request.Body)
		header = request.Header
	}))
	t.Cleanup(server.Close)
	s = newSent()
	o, err := optionsFor(r.catalogue, provider, server.URL+"/in", s)
	require.NoError(t, err)
	o.Count = 1
	_, err = loadgen.Run(context.Background(), o)
	require.NoError(t, err)
	var wrapped struct {
		Tenant string `json:"tenant_id"`
		Data   json.RawMessage
	}
	require.NoError(t, json.Unmarshal(event, &wrapped))
	if wrapped.Tenant != "" {
		event = wrapped.Data
	}
	return event, header, s
}
