package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namesNoValue matches advice that names a variable without a value: "set HOLDFAST_X", rather than "set HOLDFAST_X=1h" or "set
// HOLDFAST_X to the token".
var namesNoValue = regexp.MustCompile(
	`(?i)\b(set|raise|lower|increase|correct|add|point)( its network to)? ((HOLDFAST|TEMPORAL)_[A-Z_]+|DATABASE_URL)\b([^=]|$)`)

// Advice in errors, the doctor's findings, alerts and pages says which value to set, so that no operator must look it up.
func TestAdviceNamesValues(t *testing.T) {
	t.Parallel()
	texts := 0
	check := func(path, text string) {
		texts++
		for _, found := range namesNoValue.FindAllStringIndex(text, -1) {
			if rest := text[found[1]-1:]; !strings.HasPrefix(rest, " to ") {
				t.Errorf("%s: %q names no value", path, text)
			}
		}
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name := entry.Name(); name == "e2e" || name == "bench" || name == "tools" || name == "findings" || name == "node_modules" {
				return filepath.SkipDir
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			return eachText(path, func(text string) { check(path, text) })
		case strings.HasSuffix(path, ".html"), strings.HasSuffix(path, "rules.yaml"):
			text, err := os.ReadFile(path)
			check(path, string(text))
			return err
		}
		return nil
	}))
	require.Greater(t, texts, 1000)
}

// eachText calls do with every text of a Go file; texts that are added up are one.
func eachText(path string, do func(string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if text, isText := textOf(e); isText {
				do(text)
				return false
			}
		}
		return true
	})
	return nil
}

// textOf returns the text of a literal, or of literals that are added up.
func textOf(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isLeft := textOf(e.X)
		right, isRight := textOf(e.Y)
		return left + right, e.Op == token.ADD && isLeft && isRight
	}
	return "", false
}
