package dev

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
	"holdfast/providers"
)

// Every sample of every provider can be signed with the secrets of `make run` and is then authentic, except with certificates.
// The secrets are the same at the next start.
func TestDevSecretsFitEveryProvider(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.LoadForDev(dir, nil)
	require.NoError(t, err)
	given, err := devSecrets(dir, cfg)
	require.NoError(t, err)
	require.NotContains(t, given, "HOLDFAST_DISPATCHER_TOKEN", "it turns a feature on")
	again, err := devSecrets(dir, cfg)
	require.NoError(t, err)
	require.Equal(t, given, again)

	catalogue, err := providers.Load("")
	require.NoError(t, err)
	catalogue = catalogue.WithSecrets(func(name string) []string { return strings.Split(given[name], ",") })
	var refused []string
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		r, err := p.Sample(p.SampleTypes()[0], "x", time.Now())
		require.NoError(t, err, name)
		r.URL, r.Query = "http://127.0.0.1:8080"+r.Path, url.Values{}
		if p.SignWithSecrets(r, time.Now()) != nil || p.Authenticate(r, time.Now()) != nil {
			refused = append(refused, name)
		}
	}
	require.Equal(t, []string{"google-pubsub", "kinde", "paypal", "plaid", "sns"}, refused,
		"they sign by certificate, or with keys that they publish")
	require.NotContains(t, given, "KINDE_DOMAIN", "it isn't a secret, and its host would be asked for keys")
}
