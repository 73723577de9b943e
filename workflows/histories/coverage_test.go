package histories

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const measured = "holdfast/workflows"

// emitsNothing lists what workflow code calls of the SDK without a command. Any other function is taken to emit one.
var emitsNothing = []string{
	"AllHandlersFinished", "Await", "GetActivityOptions", "GetInfo", "GetLastCompletionResult", "GetLogger", "GetMetricsHandler",
	"GetSignalChannel", "HasLastCompletionResult", "NewDisconnectedContext", "Now", "SetUpdateHandlerWithOptions",
	"WithActivityOptions", "WithHeartbeatTimeout", "WithLocalActivityOptions", "WithRetryPolicy", "WithScheduleToCloseTimeout",
}

// emittingMethods are the methods of the SDK's types; activitySets are the variables that name activities.
var (
	emittingMethods = []string{"ReceiveWithTimeout", "SignalChildWorkflow"}
	activitySets    = []string{"do", "operate", "upkeep"}
)

// The recorded histories reach each statement that emits a command, names an activity, or returns without an error from a
// function that emits commands. A statement that they don't reach needs a history: CONTRIBUTING.md, "A recorded history".
func TestRecordedHistoriesReachEveryCommand(t *testing.T) {
	t.Parallel()
	blocks, summary := coverage(t)
	code := parseWorkflows(t)
	commands := code.commands()
	require.Greater(t, len(commands), 60, "commands are recognized")
	t.Logf("%s; %d places of commands", summary, len(commands))
	var missing []string
	for _, at := range commands {
		if block := blocks.around(at); block == nil || !block.reached {
			missing = append(missing, fmt.Sprintf("workflows/%s:%d", at.Filename, at.Line))
		}
	}
	require.Empty(t, slices.Compact(missing), "no recorded history reaches these statements")
}

// block is a part of a file that is executed as a whole.
type block struct {
	file       string
	start, end position
	reached    bool
}

type position struct{ line, column int }

func (p position) before(other position) bool {
	return p.line < other.line || p.line == other.line && p.column < other.column
}

type blocks []block

// around is the innermost block that a statement stands in.
func (all blocks) around(at token.Position) (found *block) {
	p := position{at.Line, at.Column}
	for i := range all {
		b := &all[i]
		if b.file == at.Filename && !p.before(b.start) && p.before(b.end) && (found == nil || found.start.before(b.start)) {
			found = b
		}
	}
	return found
}

// coverage replays the histories once more, in a process that counts what is executed.
func coverage(t *testing.T) (all blocks, summary string) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestRecordedHistoriesReplay$",
		"-coverpkg="+measured, "-coverprofile="+profile, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := os.Open(profile)
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		path, rest, isBlock := strings.Cut(strings.TrimPrefix(lines.Text(), measured+"/"), ":")
		if !isBlock || path == "mode" {
			continue
		}
		b, statements, count := block{file: path}, 0, 0
		_, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
			&b.start.line, &b.start.column, &b.end.line, &b.end.column, &statements, &count)
		require.NoError(t, err, lines.Text())
		b.reached = count > 0
		all = append(all, b)
	}
	_, summary, _ = strings.Cut(string(out), "coverage: ")
	return all, strings.TrimSpace(summary)
}

// source is the code of package workflows.
type source struct {
	files     *token.FileSet
	functions []*ast.FuncDecl
	// emitting are the names of those that emit a command, perhaps by calling another one. A name stands for all that have it.
	emitting map[string]bool
}

func parseWorkflows(t *testing.T) *source {
	t.Helper()
	s := &source{files: token.NewFileSet(), emitting: map[string]bool{}}
	paths, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(s.files, filepath.Base(path), text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				s.functions = append(s.functions, f)
			}
		}
	}
	for found := -1; found != len(s.emitting); {
		found = len(s.emitting)
		for _, f := range s.functions {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if s.emits(n) {
					s.emitting[f.Name.Name] = true
				}
				return true
			})
		}
	}
	return s
}

// commands are the places of the statements that the histories must reach.
func (s *source) commands() (all []token.Position) {
	for _, f := range s.functions {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if s.emits(n) || s.emitting[f.Name.Name] && endsWell(n) {
				all = append(all, s.files.Position(n.Pos()))
			}
			return true
		})
	}
	return all
}

func (s *source) emits(n ast.Node) bool {
	if call, ok := n.(*ast.CallExpr); ok {
		switch callee := call.Fun.(type) {
		case *ast.Ident:
			return s.emitting[callee.Name]
		case *ast.SelectorExpr:
			if isNamed(callee.X, "workflow") {
				return !slices.Contains(emitsNothing, callee.Sel.Name)
			}
			return s.emitting[callee.Sel.Name] || slices.Contains(emittingMethods, callee.Sel.Name)
		}
	}
	activity, ok := n.(*ast.SelectorExpr)
	return ok && isNamed(activity.X, activitySets...)
}

// endsWell says whether a statement returns without an error.
func endsWell(n ast.Node) bool {
	r, ok := n.(*ast.ReturnStmt)
	return ok && len(r.Results) > 0 && isNamed(r.Results[len(r.Results)-1], "nil")
}

func isNamed(n ast.Expr, names ...string) bool {
	id, ok := n.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}
