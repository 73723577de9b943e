package histories

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"holdfast/workflows"
)

// Every history that was ever recorded replays against today's code, so that a run which an older worker has begun can be
// finished by this one. A file that fails here is never changed or removed: the workflow needs a version (versions.go).
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/histories/*.json*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 65, "the corpus only grows")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			workflows.Register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(nil, unpacked(t, file)))
		})
	}
}

// unpacked is a file that a replayer reads: a long history is kept compressed.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	if filepath.Ext(file) != ".gz" {
		return file
	}
	packed, err := os.Open(file)
	require.NoError(t, err)
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	require.NoError(t, err)
	plain, err := os.Create(filepath.Join(t.TempDir(), "history.json"))
	require.NoError(t, err)
	defer plain.Close()
	_, err = io.Copy(plain, text)
	require.NoError(t, err)
	return plain.Name()
}
