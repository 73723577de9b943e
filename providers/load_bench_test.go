package providers

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first step of every start and command, and the memory that stays in use.
func BenchmarkLoad(b *testing.B) {
	before := heap()
	var kept *Catalogue
	b.ReportAllocs()
	for b.Loop() {
		files, err := readBuiltIn()
		require.NoError(b, err)
		kept, err = load(files, nil)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(heap())-float64(before), "kept-B")
	runtime.KeepAlive(kept)
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has put aside in pools
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Each scrape of the metrics asks for the names of all secrets.
func TestSecretNamesAreReadOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	c, err := Load("")
	require.NoError(t, err)
	c = c.WithSecrets(secretsOf(secretOfTests))
	for name, read := range map[string]func() []string{"SecretNames": c.SecretNames, "APISecretNames": c.APISecretNames} {
		require.NotEmpty(t, read(), name)
		require.Zero(t, testing.AllocsPerRun(1, func() { read() }), name)
	}
}
