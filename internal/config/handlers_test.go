package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

// A handler's URL is read from its variable or its file; an invalid one is reported by name, without its text.
func TestHandlers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(file, []byte("https://calls.example.com/?token="+canary+"\n"), 0o600))
	cfg, err := config.LoadFrom([]string{
		"ONE=https://calls.example.com/in?a=1,2", "TWO_FILE=" + file, "THREE=calls.example.com/" + canary, "FOUR=x", "FOUR_FILE=" + file,
		"FIVE_FILE=/nowhere", "SIX=ftp://calls.example.com", "SEVEN=https://",
	})
	require.NoError(t, err)
	require.Equal(t, "https://calls.example.com/in?a=1,2", cfg.Handler("ONE"))
	require.Equal(t, "https://calls.example.com/?token="+canary, cfg.Handler("TWO"))
	require.Empty(t, cfg.Handler("NONE"))
	require.NoError(t, cfg.CheckHandlers("ONE", "TWO", "NONE"))

	err = cfg.CheckHandlers("ONE", "THREE", "FOUR", "FIVE", "SIX", "SEVEN")
	for _, name := range []string{"THREE", "FOUR", "FIVE_FILE", "SIX", "SEVEN"} {
		require.ErrorContains(t, err, name+" ")
	}
	require.NotContains(t, err.Error(), canary)
	require.NotContains(t, err.Error(), "ONE")
}
