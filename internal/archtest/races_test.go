package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Makefile runs the tests of every package that has goroutines, or state for several of them, with the race detector.
func TestTheDetectorRunsWhereThereAreGoroutines(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	require.NoError(t, err)
	unraced, err := Unraced(packages)
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	require.Equal(t, unraced, UnracedOf(string(makefile)), "UNRACED in the Makefile must be:\n%s", strings.Join(unraced, " "))
	for _, raced := range []string{"persistence", "ingress/intake", "delivery/dispatch", InProcess} {
		require.NotContains(t, unraced, raced)
	}
	unwatched, err := Unwatched(packages, unraced)
	require.NoError(t, err)
	require.Empty(t, unwatched, "no test with the race detector runs these")
}

func TestConcurrentCodeIsFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"func f() { go f() }":                                             true,
		"func f() { var g group; g.Go(f) }":                               true,
		"import \"sync\"\nvar m sync.Mutex":                               true,
		"import \"sync/atomic\"\nvar n atomic.Int64":                      true,
		"import \"golang.org/x/sync/errgroup\"\nvar g = errgroup.Group{}": true,
		"// go f()\nfunc f() { Go() }":                                    false,
		"import \"synchronous\"\nvar s = \"go f()\"":                      false,
	} {
		name := filepath.Join(t.TempDir(), "p.go")
		require.NoError(t, os.WriteFile(name, []byte("package p\n"+code+"\n"), 0o600))
		plain := Package{Path: "plain", TestFiles: []string{name}}
		driver := Package{Path: "e2e/soak", TestFiles: []string{name}}
		unraced, err := Unraced([]Package{plain, driver, {Path: "untested", Files: []string{name}}})
		require.NoError(t, err)
		if want {
			require.Equal(t, []string{"e2e/soak"}, unraced, code)
		} else {
			require.Equal(t, []string{"e2e/soak", "plain"}, unraced, code)
		}
	}
}

// Concurrent code without tests is watched if a package that runs with the detector imports it, even indirectly.
func TestConcurrentCodeWithoutTestsIsWatched(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "p.go")
	require.NoError(t, os.WriteFile(name, []byte("package p\nfunc f() { go f() }\n"), 0o600))
	packages := []Package{
		{Path: "a", Files: []string{name}, TestFiles: []string{name}, TestImports: []string{module + "/b"}},
		{Path: "b", Imports: []string{module + "/c"}},
		{Path: "c", Files: []string{name}},
		{Path: "d", Files: []string{name}},
	}
	unwatched, err := Unwatched(packages, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, unwatched)
	unwatched, err = Unwatched(packages, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "d"}, unwatched)
}

func TestTheMakefilesListIsRead(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"a", "b/c", "d"}, UnracedOf("X := 1\nUNRACED := a b/c \\\n\td\nY := 2\n"))
	require.Empty(t, UnracedOf("RACED := a\n"))
}
