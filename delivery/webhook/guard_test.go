package webhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Addresses behind which something of our own may stand are refused, in every notation.
func TestOnlyThePublicInternetIsReached(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
		"2001::1", "2001:db8::1", "2002:a9fe:a9fe::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
		"fec0::1", "ff02::1",
		"168.63.129.16", "::ffff:168.63.129.16", // Azure's WireServer, in the address space of the public internet
		"::ffff:0:127.0.0.1", "::ffff:0:a9fe:a9fe", // SIIT
		"64:ff9b::7f00:1", "64:ff9b:1:7f00:0:100::", "2002:7f00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::10.0.0.1",
		"2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1", "2606:4700:1:2:0:5efe:a9fe:a9fe", // ISATAP
	} {
		require.False(t, (guard{}).allows(netip.MustParseAddr(address)), address)
	}
	for _, address := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "::ffff:1.1.1.1",
		"168.63.129.15", "2606:4700:5efe::1"} {
		require.True(t, (guard{}).allows(netip.MustParseAddr(address)), address)
	}
}

// A server on loopback is reached only where that is allowed, whatever its name is.
func TestTheGuardStandsAtTheConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hi")) }))
	t.Cleanup(server.Close)
	named := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{server.URL, named} {
		_, err := NewClient(Options{}).Post(t.Context(), url, nil, nil)
		var refused *PrivateAddressError
		require.ErrorAs(t, err, &refused)
		require.NotContains(t, err.Error(), "localhost")
	}
	answer, err := NewClient(Options{AllowPrivate: true}).Post(t.Context(), server.URL, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "hi", string(answer.Body))
}

// What comes back is bounded, redirects are not followed, and lateness is an error.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswerBytes+1)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/long", http.StatusFound) })
	mux.HandleFunc("/late", func(http.ResponseWriter, *http.Request) { <-release })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	client := NewClient(Options{AllowPrivate: true})

	_, err := client.Post(t.Context(), server.URL+"/long", nil, nil)
	require.ErrorContains(t, err, "longer than")
	answer, err := client.Post(t.Context(), server.URL+"/moved", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, answer.Status)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = client.Post(ctx, server.URL+"/late", nil, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "post: no response in time")
}
