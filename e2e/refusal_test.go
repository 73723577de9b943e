package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A refusal says what to do, and has the request's own ID.
func TestARefusalIsReadable(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress")
	a, err := n.post("/webhooks/nobody", []byte("{}"), "X-Request-Id", "request-7", "X-Correlation-Id", "chain-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, a.status)
	require.Equal(t, "chain-1", a.header.Get("X-Correlation-Id"))
	var body map[string]map[string]string
	require.NoError(t, json.Unmarshal(a.body, &body))
	require.Equal(t, "request-7", body["error"]["request_id"])
	require.NotEmpty(t, body["error"]["message"])
}
