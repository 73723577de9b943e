package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mistake is a definition with one mistake of those that authors typically make, and the finding that the check owes them. All
// but a few were chosen before the check was read or run; the header says which.
type mistake struct {
	text string
	// field is where the finding is: the field itself, or one below it. says is a part of its message.
	field, says, chosen string
}

func readMistake(t *testing.T, file string) mistake {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m := mistake{text: string(text)}
	for line := range strings.Lines(m.text) {
		for head, into := range map[string]*string{"# Field:": &m.field, "# Says:": &m.says, "# Chosen:": &m.chosen} {
			if value, ok := strings.CutPrefix(line, head); ok {
				*into = strings.TrimSpace(value)
			}
		}
	}
	require.NotEmpty(t, m.says, file)
	return m
}

func checkedAlone(t *testing.T, text string) []Finding {
	t.Helper()
	dir := writeDefinitions(t, map[string]string{"acme.yaml": text})
	checked, err := CheckPath(filepath.Join(dir, "acme.yaml"), nil)
	require.NoError(t, err)
	return checked.Problems()
}

// Each typical mistake is found where it is, with a sentence that says what to write instead; without it nothing is wrong.
func TestTypicalMistakesAreFound(t *testing.T) {
	t.Parallel()
	right, err := os.ReadFile("testdata/right.yaml")
	require.NoError(t, err)
	require.Empty(t, checkedAlone(t, string(right)))
	files, err := filepath.Glob("testdata/mistakes/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 40)
	before := 0
	for _, file := range files {
		m := readMistake(t, file)
		if strings.HasPrefix(m.chosen, "before") {
			before++
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			found := checkedAlone(t, m.text)
			for _, f := range found {
				if strings.HasPrefix(f.Field, m.field) && strings.Contains(f.Message, m.says) {
					return
				}
			}
			require.Failf(t, "the mistake isn't found", "want %q at %s, found:\n%v", m.says, m.field, found)
		})
	}
	require.GreaterOrEqual(t, before, len(files)/2)
}
