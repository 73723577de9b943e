package archtest

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Every kind of violation is detected: a checker that can't fail is worse than none.
func TestBreachesOfTheTableAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pkg  Package
		want string
	}{
		"a package without a rule": {
			Package{Path: "util"},
			"util is a package without a rule in the import table: add one",
		},
		"a library in the vocabulary": {
			Package{Path: "event", Imports: []string{"time", "github.com/google/uuid"}},
			"event imports github.com/google/uuid: the shared vocabulary: every package imports it, so it imports none",
		},
		"a direction turned around": {
			Package{Path: "event", Imports: []string{"holdfast/providers"}},
			"event imports holdfast/providers: the shared vocabulary: every package imports it, so it imports none",
		},
		"a store in the ingress": {
			Package{Path: "ingress", Imports: []string{"holdfast/event", "github.com/jackc/pgx/v5/pgxpool"}},
			"ingress imports github.com/jackc/pgx/v5/pgxpool: " + whyNoStore,
		},
		"I/O in a workflow": {
			Package{Path: "workflows", Imports: []string{"net/http"}},
			"workflows imports net/http: " + whyNoIO,
		},
		"configuration in a workflow": {
			Package{Path: "workflows", Imports: []string{"holdfast/internal/config"}},
			"workflows imports holdfast/internal/config: " + whyNoIO,
		},
		"the SDK of OpenTelemetry where its API is enough": {
			Package{Path: "activities", Imports: []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/sdk/trace"}},
			"activities imports go.opentelemetry.io/otel/sdk/trace: steps are called by Temporal and call interfaces; they " +
				"start and store nothing directly",
		},
		"the domain in the plumbing": {
			Package{Path: "internal/config", Imports: []string{"github.com/caarlos0/env/v11", "holdfast/event"}},
			"internal/config imports holdfast/event: " + whyPlumbing,
		},
		"code for tests in the binary": {
			Package{Path: "cmd/holdfast", Imports: []string{"holdfast/internal/process", "holdfast/internal/devstack/stacktest"}},
			"cmd/holdfast imports holdfast/internal/devstack/stacktest: the binary contains no test code",
		},
		"a command line in a process": {
			Package{Path: "internal/process", Imports: []string{"holdfast/ingress", "github.com/spf13/cobra"}},
			"internal/process imports github.com/spf13/cobra: it wires the roles together, and needs only " +
				"a configuration to run",
		},
		"a decision in the program": {
			Package{Path: "cmd/holdfast", Imports: []string{"holdfast/persistence"}},
			"cmd/holdfast imports holdfast/persistence: it lists the commands and does nothing else",
		},
		"code among the end-to-end tests": {
			Package{Path: "e2e", HasCode: true},
			"e2e has code in addition to its tests: the product is tested from outside, as programs",
		},
		"a test that looks up": {
			Package{Path: "activities", TestImports: []string{"holdfast/workflows"}},
			"a test of activities imports holdfast/workflows: workflows builds on activities, so such a test belongs there or " +
				"in e2e",
		},
		"a test that goes around a ban": {
			Package{Path: "ingress", TestImports: []string{"holdfast/persistence"}},
			"a test of ingress imports holdfast/persistence: " + whyNoStore,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []string{c.want}, Check([]Package{c.pkg}, Table))
		})
	}
}

func TestAllowedImportsAreNoBreach(t *testing.T) {
	t.Parallel()
	require.Empty(t, Check([]Package{
		{Path: "event", Imports: []string{"time"}, TestImports: []string{"pgregory.net/rapid", "holdfast/event"}},
		{
			Path: "workflows", Imports: []string{"holdfast/activities", "go.temporal.io/sdk/workflow"},
			TestImports: []string{"holdfast/providers", "holdfast/internal/devstack/stacktest"},
		},
		{Path: "persistence", TestImports: []string{"holdfast/migrations", "holdfast/internal/devstack/stacktest"}},
		{Path: "persistence/outbox", TestImports: []string{"holdfast/persistence", "holdfast/persistence/persistencetest"}},
		{Path: "cmd/holdfast", Imports: []string{"holdfast/internal/process", "github.com/spf13/cobra"}},
		{Path: "e2e", TestImports: []string{"holdfast/cmd/holdfast", "holdfast/persistence"}},
	}, Table))
}

func TestUnusedDirectionsAreFound(t *testing.T) {
	t.Parallel()
	table := []Rule{{Package: "a", Ours: []string{"b", "c", anything}}, {Package: "b"}, {Package: "gone"}}
	packages := []Package{{Path: "a", Imports: []string{"holdfast/b"}}, {Path: "b"}}
	require.Equal(t, []string{
		"a may import c but does not: remove it from the rule",
		"gone has a rule but is not a package",
	}, Unused(packages, table))
}

func TestACycleOfTheTableEnds(t *testing.T) {
	t.Parallel()
	table := []Rule{{Package: "a", Ours: []string{"b"}}, {Package: "b", Ours: []string{"a"}}, {Package: "c"}}
	require.Empty(t, Check([]Package{{Path: "c", TestImports: []string{"holdfast/a"}}}, table))
}

func TestOldVersionsAreFound(t *testing.T) {
	t.Parallel()
	floors := []Floor{{"example.org/a", "v1.9.2", "a hole"}}
	for _, old := range []string{"v1.9.1", "v1.8.20", "v0.99.0", "v1.9.1-rc.1"} {
		require.Equal(t, []string{"example.org/a " + old + " is older than v1.9.2: a hole"},
			CheckVersions(map[string]string{"example.org/a": old}, floors))
	}
	for _, fine := range []string{"v1.9.2", "v1.10.0", "v2.0.0", "v1.9.10"} {
		require.Empty(t, CheckVersions(map[string]string{"example.org/a": fine}, floors))
	}
	require.Empty(t, CheckVersions(nil, floors), "a module that is not there")
}

func TestStrangersAtTheTopLevelAreFound(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		".gitignore": {Data: []byte("/bin/\n/coverage.out\n")}, ".golangci.yml": {}, "bin/holdfast": {}, "coverage.out": {},
		"event/doc.go": {}, "pkg/x.go": {}, "NOTES.txt": {},
	}
	breaches, err := CheckTopLevel(tree, []string{"event"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"NOTES.txt lies at the top level and is not part of the architecture",
		"pkg lies at the top level and is not part of the architecture",
	}, breaches)
}

func TestAnImportOfAPackageAboveIsFound(t *testing.T) {
	t.Parallel()
	packages := []Package{
		{Path: "a/b", Imports: []string{"holdfast/a", "holdfast/a/c", "holdfast/ab", "fmt"}},
		{Path: "a/b/c", Imports: []string{"holdfast/a/b"}},
		{Path: "a", Imports: []string{"holdfast/a/b"}},
		{Path: "ab", Imports: []string{"holdfast/a"}},
		{Path: "d/e", Imports: []string{"holdfast/d"}},
	}
	require.Equal(t, []string{"a/b imports a, which is above it", "a/b/c imports a/b, which is above it"}, Upward(packages, []string{"a"}))
}

// A way around the door is found through any number of packages, with all of them; the door itself isn't one.
func TestWaysAroundTheDoorAreFound(t *testing.T) {
	t.Parallel()
	door := Door{Tree: "cli", Why: "why", Closed: []string{"store"}, Through: map[string]string{"door": "reason"}}
	packages := func(tools ...string) []Package {
		return []Package{
			{Path: "cli", Imports: []string{"fmt", "holdfast/door"}}, {Path: "cli/event", Imports: []string{"holdfast/cli", "holdfast/tools"}},
			{Path: "door", Imports: []string{"holdfast/store/sql"}}, {Path: "tools", Imports: tools},
			{Path: "more", Imports: []string{"holdfast/store/sql"}}, {Path: "other", Imports: []string{"holdfast/store"}},
		}
	}
	require.Empty(t, door.Breaches(packages()))
	require.Equal(t, []string{"cli/event imports tools imports more imports store/sql: why"}, door.Breaches(packages("holdfast/more")))
	require.Equal(t, []string{"cli/event imports tools imports store: why"}, door.Breaches(packages("holdfast/store")))
	door.Through["unused"] = "reason"
	require.Equal(t, []string{"nothing in cli uses unused: remove it from the doors"}, door.Breaches(packages()))
}
