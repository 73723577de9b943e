package archtest

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestTheModulesKeepTheImportTable(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	measuring, err := Load(filepath.Join(root, "bench"))
	require.NoError(t, err)
	require.NotEmpty(t, measuring)
	packages = append(packages, measuring...)
	require.Empty(t, Check(withoutRoot(packages), Table), "the table stands in internal/archtest/table.go")
	require.Empty(t, Unused(packages, Table), "the table stands in internal/archtest/table.go")
}

func TestNoPackageImportsOneAboveIt(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	require.NoError(t, err)
	within := 0
	for _, p := range packages {
		if slices.ContainsFunc(Downward, func(tree string) bool { return isBelow(p.Path, tree) }) {
			within++
		}
	}
	require.Greater(t, within, 2*len(Downward))
	upward := Upward(packages, Downward)
	t.Logf("of %d packages in %s, %d import one above them", within, strings.Join(Downward, " and "), len(upward))
	require.Empty(t, upward)
}

// Commands reach the stores through the operator API only.
func TestCommandsHaveOneDoor(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	require.NoError(t, err)
	require.Empty(t, OneDoor.Breaches(packages))
}

// The console, the importer and the dispatcher reach the stores through the operator API's interfaces only.
func TestSurfacesHaveNoStoreOfTheirOwn(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	require.NoError(t, err)
	own, err := OwnStores(packages, Surfaces)
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(maps.Keys(NotStores)), own, "use an interface of operator/api")
}

func TestAStoreOfASurfaceIsFound(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "", `package console

type Finder interface{ Find(ctx context.Context, text string) (ids []string, err error) }

type Options struct {
	API     *api.API
	Sources func(ctx context.Context, limit int) ([]string, error)
}

type Names interface{ Names() []string }

func (c *Console) find(ctx context.Context) error { return nil }
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.Equal(t, []string{"Finder", "Options"}, openTypes(file))
}

// withoutRoot removes the module's own directory, whose files the top-level check covers.
func withoutRoot(packages []Package) (rest []Package) {
	for _, p := range packages {
		if p.Path != "." {
			rest = append(rest, p)
		}
	}
	return rest
}

func TestTheTopLevelDrawsTheArchitecture(t *testing.T) {
	t.Parallel()
	breaches, err := CheckTopLevel(os.DirFS(root), TopLevel)
	require.NoError(t, err)
	require.Empty(t, breaches)
}

func TestNoLibraryIsOlderThanItsLastKnownHole(t *testing.T) {
	t.Parallel()
	selected, err := SelectedVersions(root)
	require.NoError(t, err)
	require.Contains(t, selected, "github.com/gofiber/fiber/v2")
	require.Empty(t, CheckVersions(selected, Floors))
}

// Tools and the benchmark have their own modules, so that the product doesn't depend on what they need.
func TestEveryToolIsAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	require.FileExists(t, filepath.Join(root, "bench", "go.mod"))
	tools, err := os.ReadDir(filepath.Join(root, "tools"))
	require.NoError(t, err)
	for _, tool := range tools {
		if tool.IsDir() {
			require.FileExists(t, filepath.Join(root, "tools", tool.Name(), "go.mod"))
		}
	}
}

func TestEveryRuleHasAReason(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Table {
		require.NotEmptyf(t, r.Why, "the rule of %s", r.Package)
		require.Falsef(t, seen[r.Package], "%s has two rules", r.Package)
		seen[r.Package] = true
		for _, ban := range r.Never {
			require.NotEmptyf(t, ban.Why, "%s may never import %s", r.Package, ban.Path)
		}
	}
}

func TestNoPackageHasTooManyFiles(t *testing.T) {
	t.Parallel()
	counts, err := Files(root)
	require.NoError(t, err)
	require.Positive(t, counts["internal/archtest"])
	for name, n := range counts {
		require.LessOrEqualf(t, n, MaxFiles, "%s: split it by subject, or simplify it", name)
	}
}

// The table itself must be acyclic: no package depends on itself, even indirectly.
func TestTheTableHasNoCircle(t *testing.T) {
	t.Parallel()
	ours := map[string][]string{}
	for _, r := range Table {
		ours[r.Package] = r.Ours
	}
	var visit func(name string, above map[string]bool)
	visit = func(name string, above map[string]bool) {
		require.Falsef(t, above[name], "%s builds on itself", name)
		above[name] = true
		for _, next := range ours[name] {
			visit(next, above)
		}
		delete(above, name)
	}
	for name := range ours {
		visit(name, map[string]bool{})
	}
}

// The architecture tour links to existing files.
func TestTheTourLeadsSomewhere(t *testing.T) {
	t.Parallel()
	tour, err := os.ReadFile(filepath.Join(root, "docs", "internals", "code-map.md"))
	require.NoError(t, err)
	places := regexp.MustCompile("`([a-z][a-z_-]*/[a-z0-9_/.-]*)`").FindAllSubmatch(tour, -1)
	require.NotEmpty(t, places)
	for _, place := range places {
		_, err := os.Stat(filepath.Join(root, string(place[1])))
		require.NoError(t, err)
	}
}
