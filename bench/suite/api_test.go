package suite

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
)

// The part lists as many events as it was asked for last, and has a state for any customer.
func TestTheAPIListsOnlyMatches(t *testing.T) {
	t.Parallel()
	input, ask := io.Pipe()
	answers, output := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ServeAPI(input, output) }()
	decoder := json.NewDecoder(answers)
	var announced announcedAPI
	require.NoError(t, decoder.Decode(&announced))
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM([]byte(announced.Certificate)))
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer client.CloseIdleConnections()
	get := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost:"+announced.Port+path, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("authorization", "Bearer "+fakeapi.Credential)
		response, err := client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	for _, want := range []WantedList{{"first", 3}, {"second", 70}} {
		require.NoError(t, json.NewEncoder(ask).Encode(want))
		var got WantedList
		require.NoError(t, decoder.Decode(&got))
		require.Equal(t, want, got)
		require.Equal(t, want.Count, int64(bytes.Count([]byte(get("/v1/events?limit=100")), []byte(`"evt_`+want.Name+`_`))))
	}
	require.Contains(t, get("/v1/customers/cus_7"), `"id":"cus_7"`)
	require.NoError(t, ask.Close())
	require.NoError(t, <-ended)
}
