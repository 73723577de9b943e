package archive_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"holdfast/internal/archive"
)

// A few bytes cannot ask for half a gigabyte of memory: what needs a larger window than zstd itself reads is refused.
func TestAFrameAsksForLittleMemory(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 150 {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Less(t, bomb.Len(), 100_000)
	in, err := archive.Decompress(&bomb)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	require.ErrorIs(t, err, zstd.ErrWindowSizeExceeded)
}
