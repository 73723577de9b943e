package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each closed set has all of the constants of its type, so that no filter refuses what a row can have.
func TestEverySetIsWhole(t *testing.T) {
	t.Parallel()
	declared := constantsByType(t)
	for name, all := range map[string][]string{
		"Status": texts(Statuses()), "DeadLetterState": texts(DeadLetterStates()), "Class": texts(Classes()),
		"Step": texts(Steps()), "Phase": texts(Phases()), "Lane": texts(Lanes()),
	} {
		require.NotEmpty(t, declared[name])
		require.ElementsMatch(t, declared[name], all, name)
	}
}

func texts[T ~string](all []T) (texts []string) {
	for _, one := range all {
		texts = append(texts, string(one))
	}
	return texts
}

func constantsByType(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // one package, without build tags
	require.NoError(t, err)
	ast.Inspect(packages["event"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
			text, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			if !slices.Contains(found[kind.Name], text) {
				found[kind.Name] = append(found[kind.Name], text)
			}
		}
		return true
	})
	return found
}
