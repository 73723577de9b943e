package config

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A secret is read at most once a second, after which a new one applies; each name is cached separately.
func TestSecretsAreReadOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, current := 0, "old"
		secrets := RememberSecrets(func(name string) []string {
			reads++
			return []string{name + " " + current}
		}, time.Second)
		for range 100 {
			require.Equal(t, []string{"A old"}, secrets("A"))
		}
		require.Equal(t, []string{"B old"}, secrets("B"))
		require.Equal(t, 2, reads)

		current = "new"
		<-time.After(time.Second - 1)
		require.Equal(t, []string{"A old"}, secrets("A"))
		<-time.After(1)
		require.Equal(t, []string{"A new"}, secrets("A"))
		require.Equal(t, 3, reads)
	})
}
