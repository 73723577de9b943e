package config_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

const canary = "CANARY-5f1d"

var update = flag.Bool("update", false, "write the golden files")

func TestNoWayOfPrintingShowsASecret(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{
		"DATABASE_URL=postgres://holdfast:" + canary + "@127.0.0.1/holdfast",
		"TEMPORAL_API_KEY=" + canary,
		"STRIPE_WEBHOOK_SECRET=" + canary,
	})
	require.NoError(t, err)

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%c", "%T"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", cfg, &cfg, cfg.Database.URL)
		fmt.Fprintf(&out, verb+"\n", cfg.Database)
	}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).Info("starting", "config", cfg, "database", cfg.Database, "url", cfg.Database.URL)
	}
	require.NoError(t, json.NewEncoder(&out).Encode(cfg))

	printed := strings.ToLower(out.String())
	require.Contains(t, printed, "127.0.0.1:8080", "the printing works")
	for line := range strings.Lines(printed) {
		require.NotContains(t, line, strings.ToLower(canary))
		require.NotContains(t, line, hex.EncodeToString([]byte(canary)))
	}
	require.Contains(t, cfg.Database.URL.Reveal(), canary)
}

func TestTheListOfValuesInForceIsMasked(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{
		"DATABASE_URL=postgres://holdfast:" + canary + "@127.0.0.1/holdfast",
		"HOLDFAST_INGRESS_TRUSTED_PROXIES=10.0.0.0/8, 192.168.1.7",
		"HOLDFAST_LOG_LEVEL=debug",
	})
	require.NoError(t, err)
	const golden = "testdata/values.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(cfg.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equalf(t, string(want), cfg.String(), "%s is not current: run `go generate ./internal/config`", golden)
}

func TestTheDatabaseMayComeFromAFile(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"DATABASE_URL_FILE=" + file(t, "postgres://127.0.0.1/holdfast\n")})
	require.NoError(t, err)
	require.Equal(t, "postgres://127.0.0.1/holdfast", cfg.Database.URL.Reveal())
}

func TestAFileThatCannotBeReadIsAMistake(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom([]string{"DATABASE_URL_FILE=/nonexistent/url"})
	require.ErrorContains(t, err, "DATABASE_URL_FILE names a file that cannot be read")

	_, err = config.LoadFrom([]string{"DATABASE_URL_FILE=" + file(t, " \n")})
	require.ErrorContains(t, err, "DATABASE_URL_FILE names a file that is empty")

	_, err = config.LoadFrom([]string{"DATABASE_URL=postgres://a/b", "DATABASE_URL_FILE=" + file(t, "postgres://a/c")})
	require.ErrorContains(t, err, "DATABASE_URL and DATABASE_URL_FILE are both set")
}

func TestSecretsOfAProviderMayBeSeveralWhileTheyRotate(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{
		"ONE= whsec_a ",
		"TWO=whsec_a, whsec_b,",
		"LINES=whsec_a\r\n\nwhsec_b\n",
		`COMMAS=a\,b\,,c\d,\,`,
		"MOUNTED_FILE=" + file(t, "  with, a comma \n\nsecond\n"),
		"MISSING_FILE=/nonexistent/secret",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"whsec_a"}, cfg.Secrets("ONE"))
	require.Equal(t, []string{"whsec_a", "whsec_b"}, cfg.Secrets("TWO"))
	require.Equal(t, []string{"whsec_a", "whsec_b"}, cfg.Secrets("LINES"))
	require.Equal(t, []string{"with, a comma", "second"}, cfg.Secrets("MOUNTED"))
	require.Equal(t, []string{"a,b,", `c\d`, ","}, cfg.Secrets("COMMAS"))
	require.Empty(t, cfg.Secrets("MISSING"))
	require.Empty(t, cfg.Secrets("NEVER_SET"))
}

func TestSecretsThatCannotBeReadAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{
		"GOOD=whsec_0123456789",
		"GONE_FILE=/nonexistent/secret",
		"TWICE=" + canary, "TWICE_FILE=/nonexistent/secret",
	})
	require.NoError(t, err)
	require.NoError(t, cfg.CheckSecrets("GOOD"))
	wrong := variables(t, cfg.CheckSecrets("GOOD", "GONE", "TWICE", "NEVER_SET"))
	require.ElementsMatch(t, []string{"GONE_FILE", "TWICE"}, keys(wrong))
	require.NotContains(t, fmt.Sprint(wrong), canary)
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func keys(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

// A definition may name a secret of the configuration, whether it is set by variable or file.
func TestASecretFromAFileIsReadByItsName(t *testing.T) {
	t.Parallel()
	const name = "HOLDFAST_DISPATCHER_TOKEN"
	for _, environ := range []string{name + "=" + canary, name + "_FILE=" + file(t, canary+"\n")} {
		cfg, err := config.LoadFrom([]string{environ})
		require.NoError(t, err)
		require.Equal(t, canary, cfg.Ingress.DispatcherToken.Reveal())
		require.NoError(t, cfg.CheckSecrets(name))
		require.Equal(t, []string{canary}, cfg.Secrets(name))
	}
}

// A PEM block is one secret with its lines, in a file and in a variable. Without its end, each line is one.
func TestAPEMBlockIsOneSecret(t *testing.T) {
	t.Parallel()
	const block = "-----BEGIN PUBLIC KEY-----\nMFkw+/=\nEwYH\n-----END PUBLIC KEY-----"
	for text, want := range map[string][]string{
		block: {block}, "a\r\n" + strings.ReplaceAll(block, "\n", "\r\n") + "\n\n" + block + "\nb\n": {"a", block, block, "b"},
		"a\n-----BEGIN PUBLIC KEY-----\nMFkw": {"a", "-----BEGIN PUBLIC KEY-----", "MFkw"},
		strings.ReplaceAll(block, "\n", `\n`): {strings.ReplaceAll(block, "\n", `\n`)},
	} {
		file := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		for _, variable := range []string{"A_SECRET=" + text, "A_SECRET_FILE=" + file} {
			cfg, err := config.LoadFrom([]string{variable})
			require.NoError(t, err)
			require.Equal(t, want, cfg.Secrets("A_SECRET"))
		}
	}
}
