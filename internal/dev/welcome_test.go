package dev

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

// No line of the log gets between two parts of the screen, and a program that waits for its first line reads all of it.
func TestTheScreenIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	var screen writes
	(&devStack{}).welcome(&screen, config.Config{}, Demo{Program: "./holdfast"}, "console", "endpoint")
	require.Len(t, screen, 1)
	require.Contains(t, screen[0], "\n  ./holdfast send stripe\n")
	require.Contains(t, screen[0], "HOLDFAST_PROVIDERS_DIR names a folder with yours")
	cfg := config.Config{}
	cfg.Providers.Dir = "/etc/definitions"
	(&devStack{}).welcome(&screen, cfg, Demo{}, "console", "endpoint")
	require.Contains(t, screen[1], "/etc/definitions, read again when a file changes\n")
}
