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
