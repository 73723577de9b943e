package dev

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
	"holdfast/internal/devstack"
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
	catalogue = catalogue.WithSecrets(func(name string) []string {
		return strings.FieldsFunc(given[name], func(c rune) bool { return c == ',' })
	})
	var refused []string
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		require.Empty(t, p.SecretProblems(), "the doctor would warn of them")
		r, err := p.Sample(p.SampleTypes()[0], "x", time.Now())
		require.NoError(t, err, name)
		r.URL, r.Query = "http://127.0.0.1:8080"+r.Path, url.Values{}
		if p.SignWithSecrets(r, time.Now()) != nil || p.Authenticate(r, time.Now()) != nil {
			refused = append(refused, name)
		}
	}
	require.Equal(t, []string{"app-store", "google-pubsub", "kinde", "paypal", "plaid", "sns", "truelayer"}, refused,
		"they sign by certificate, or with keys that they publish")
	require.Empty(t, catalogue.KeySets(), "no sender is asked for keys before its provider is connected")
	require.NotContains(t, given, "KINDE_DOMAIN", "it isn't a secret, and its host would be asked for keys")
}

// A command in another terminal, without the variables of `make run`, has its definitions, and the secret of one that isn't
// built in.
func TestCommandsHaveTheDefinitionsOfMakeRun(t *testing.T) {
	folder := t.TempDir()
	text, err := providers.Skeleton("orders")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "mine"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "mine", "orders.yaml"), []byte(text), 0o600))
	t.Chdir(folder)
	t.Setenv("HOLDFAST_PROVIDERS_DIR", "mine")
	cfg, err := config.Load()
	require.NoError(t, err)
	stack := &devStack{claimed: &devstack.Claimed{Dir: folder}}
	_, err = stack.configure(cfg, nil)
	require.NoError(t, err)

	t.Setenv("HOLDFAST_PROVIDERS_DIR", "")
	t.Setenv("HOLDFAST_DEV_DIR", folder)
	t.Chdir(t.TempDir())
	cfg, found, err := config.LoadBesideDev()
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, filepath.Join(folder, "mine"), cfg.Providers.Dir)
	require.NotEmpty(t, cfg.Secrets("ORDERS_WEBHOOK_SECRET"))

	require.NoError(t, os.RemoveAll(filepath.Join(folder, "mine")))
	cfg, found, err = config.LoadBesideDev()
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, cfg.Providers.Dir, "the folder is deleted")
	require.NotEmpty(t, cfg.Secrets("ORDERS_WEBHOOK_SECRET"))
	t.Setenv("HOLDFAST_PROVIDERS_DIR", filepath.Join(folder, "mine"))
	cfg, _, err = config.LoadBesideDev()
	require.NoError(t, err)
	require.NotEmpty(t, cfg.Providers.Dir, "a variable of the user isn't ignored")
}
