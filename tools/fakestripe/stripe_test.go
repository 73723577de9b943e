package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/fakeapi"
)

// refusing is the transport to other hosts.
type refusing struct{}

var errOther = errors.New("another host")

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errOther }

// The fake answers as Stripe on loopback, with a certificate that nothing else trusts, and takes no requests to other hosts.
func TestOnlyItsOwnTransportReachesTheFakeStripe(t *testing.T) {
	t.Parallel()
	f := &fakeStripe{
		style: fakeapi.Styles()[stripe], events: []fakeapi.Event{{ID: "evt_1", Type: "customer.updated", Time: time.Now()}},
	}
	apis, err := f.serve(refusing{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.stop()) })
	get := func(transport http.RoundTripper, host string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/v1/events", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("authorization", "Bearer "+fakeapi.Credential)
		return transport.RoundTrip(r)
	}
	response, err := get(apis, stripeHost)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	_, err = get(apis, "api.gocardless.com")
	require.ErrorIs(t, err, errOther)

	own := apis.(hostTransport).own.(*http.Transport)
	distrusting := own.Clone()
	distrusting.TLSClientConfig.RootCAs = nil
	_, err = get(distrusting, stripeHost)
	require.ErrorContains(t, err, "certificate")
	connection, err := own.DialContext(t.Context(), "tcp", "203.0.113.1:443")
	require.NoError(t, err)
	require.Contains(t, connection.RemoteAddr().String(), "127.0.0.1:")
	require.NoError(t, connection.Close())
}
