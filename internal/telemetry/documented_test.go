package telemetry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../../docs/telemetry.md"

// temporalNames is the file of the instruments whose names come from Temporal's SDK.
const temporalNames = "internal/telemetry/temporal.go:"

var (
	makesInstrument = regexp.MustCompile(`^((Int64|Float64)(Observable)?(Counter|UpDownCounter|Histogram|Gauge)|Timer)$`)
	logs            = regexp.MustCompile(`^(Log|(Debug|Info|Warn|Error)(Context)?)$`)
	isLineName      = regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)
)

// Every instrument, log line and log field, in whatever package, is documented.
func TestMetricsAndLogsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	reported := readSources(t, "../..")
	require.NotEmpty(t, reported.instruments)
	require.NotEmpty(t, reported.lines)
	for _, kind := range []map[string]string{reported.instruments, reported.lines, reported.fields} {
		for _, name := range slices.Sorted(maps.Keys(kind)) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s tells %q: describe it in docs/telemetry.md", kind[name], name)
			}
		}
	}
}

// reported maps each name that the sources of this module report to a position.
type reported struct {
	instruments, lines, fields map[string]string
	files                      *token.FileSet
}

func readSources(t *testing.T, root string) reported {
	t.Helper()
	found := reported{map[string]string{}, map[string]string{}, map[string]string{}, token.NewFileSet()}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "tools") {
			return filepath.SkipDir
		}
		found.readPackage(t, path)
		return nil
	}))
	return found
}

func (f reported) readPackage(t *testing.T, dir string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var parsed []*ast.File
	constants := map[string]string{}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(f.files, source, nil, 0)
		require.NoError(t, err)
		parsed = append(parsed, file)
		readConstants(file, constants)
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f.readCall(t, call, constants)
			}
			return true
		})
	}
}

func readConstants(file *ast.File, constants map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
			for i, name := range spec.Names {
				if value, ok := literal(spec.Values[i], nil); ok {
					constants[name.Name] = value
				}
			}
		}
		return true
	})
}

func (f reported) readCall(t *testing.T, call *ast.CallExpr, constants map[string]string) {
	t.Helper()
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	where := f.files.Position(call.Pos()).String()
	if makesInstrument.MatchString(method.Sel.Name) && !strings.Contains(where, temporalNames) {
		name, ok := literal(call.Args[0], constants)
		require.Truef(t, ok, "%s: write the name of the instrument as a literal or a constant", where)
		f.instruments[name] = where
	}
	if logs.MatchString(method.Sel.Name) {
		f.readLine(call.Args, constants, where)
	}
}

// readLine parses the arguments of a logging call: the line's name is the first text that looks like one, and the fields follow
// it.
func (f reported) readLine(args []ast.Expr, constants map[string]string, where string) {
	for i, arg := range args {
		name, ok := literal(arg, constants)
		if !ok || !isLineName.MatchString(name) {
			continue
		}
		f.lines[name] = where
		for j := i + 1; j < len(args); j += 2 {
			if key, ok := literal(args[j], constants); ok {
				f.fields[key] = where
			}
		}
		return
	}
}

func literal(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		value, ok := constants[e.Name]
		return value, ok
	default:
		return "", false
	}
}
