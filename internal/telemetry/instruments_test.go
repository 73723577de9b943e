package telemetry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var makesInstrument = regexp.MustCompile(`^(Int64|Float64)(Observable)?(Counter|UpDownCounter|Histogram|Gauge)$`)

// Whoever adds an instrument, in whatever package, documents it.
func TestEveryInstrumentIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	created := createdInstruments(t, "../..")
	require.NotEmpty(t, created)
	for name, where := range created {
		require.Containsf(t, string(page), "| `"+name+"` |", "%s creates %s: describe it in docs/telemetry.md", where, name)
	}
}

// createdInstruments finds the calls that create an instrument in the sources of this module: name → position.
func createdInstruments(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "tools") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			instrumentsOf(t, path, found)
		}
		return nil
	}))
	return found
}

func instrumentsOf(t *testing.T, path string, found map[string]string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && makesInstrument.MatchString(method.Sel.Name) {
			where := files.Position(call.Pos()).String()
			literal, ok := call.Args[0].(*ast.BasicLit)
			require.Truef(t, ok, "%s: write the name of the instrument here, so that it can be found", where)
			name, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			found[name] = where
		}
		return true
	})
}
