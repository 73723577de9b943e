package config

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A file that can't be read any more has its last secret for a minute, and none after it. What is in it then applies.
func TestTheSecretOfAFileIsKeptForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content, failure := []string{"old"}, error(nil)
		k := &KeptSecrets{
			read:    func(string) ([]string, error) { return content, failure },
			file:    func(name string) string { return "/run/" + name },
			lasting: time.Second, instead: "unreadable",
		}
		lost := func() bool { return k.Files([]string{"A"})["/run/A"] }
		require.Equal(t, []string{"old"}, k.Secrets("A"))
		require.False(t, lost())

		failure = errors.New("it is empty")
		<-time.After(time.Second)
		require.Equal(t, []string{"old"}, k.Secrets("A"))
		require.True(t, lost())
		<-time.After(keepFor - 1)
		require.Equal(t, []string{"old"}, k.Secrets("A"))
		<-time.After(time.Second)
		require.Equal(t, []string{"unreadable"}, k.Secrets("A"))
		<-time.After(time.Hour)
		require.Equal(t, []string{"unreadable"}, k.Secrets("A"))

		content, failure = []string{"new"}, nil
		<-time.After(time.Second)
		require.Equal(t, []string{"new"}, k.Secrets("A"))
		require.False(t, lost())
		failure = errors.New("it is gone")
		<-time.After(time.Second)
		require.Equal(t, []string{"new"}, k.Secrets("A"), "the old one never returns")
		content, failure = nil, nil
		<-time.After(time.Second)
		require.Empty(t, k.Secrets("A"), "it was unset, which isn't a failure")
	})
}

// A file that can't be read from the start has no secret to keep: senders are asked to retry at once, until it can be read.
func TestAFileThatNeverCouldBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content, failure := []string(nil), errors.New("it is missing")
		k := &KeptSecrets{
			read:    func(string) ([]string, error) { return content, failure },
			file:    func(string) string { return "/run/a" },
			lasting: time.Second, instead: "unreadable",
		}
		for range 3 {
			require.Equal(t, []string{"unreadable"}, k.Secrets("A"))
			<-time.After(keepFor)
		}
		require.True(t, k.Files([]string{"A"})["/run/a"])
		content, failure = []string{"first"}, nil
		<-time.After(time.Second)
		require.Equal(t, []string{"first"}, k.Secrets("A"))
		require.False(t, k.Files([]string{"A"})["/run/a"])
	})
}

// Names whose file is the same have one state; those without a file have none.
func TestTheFilesOfSecrets(t *testing.T) {
	t.Parallel()
	cfg, err := LoadFrom([]string{"A_FILE=/nonexistent/a", "B=whsec_0123456789"})
	require.NoError(t, err)
	k := NewKeptSecrets(cfg, time.Second, "unreadable")
	require.Equal(t, map[string]bool{"/nonexistent/a": true}, k.Files([]string{"A", "B", "C"}))
	require.Equal(t, []string{"whsec_0123456789"}, k.Secrets("B"))
	require.Empty(t, k.Secrets("C"), "it was never configured")
}
