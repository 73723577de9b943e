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

// What isn't configured isn't compiled: the catalogue may grow, but not what a start costs. The 81 definitions of 2545ee7b took
// 472,152 allocations, the 141 of 30 November 2026 take 506,150.
func TestLoadingTheCatalogueIsCheap(t *testing.T) { //nolint:paralleltest // it counts allocations
	allocations := testing.AllocsPerRun(1, func() {
		files, err := readBuiltIn()
		require.NoError(t, err)
		_, err = load(files, nil)
		require.NoError(t, err)
	})
	require.Less(t, allocations, 1.2*472_152)
}
