package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/conformance.md")

const conformancePage = "../../docs/conformance.md"

const aboveConformance = `# Conformance

<!-- Written by go test ./e2e/clients -run TestTheConformancePage -update -->

Which libraries for providers run against the [built-in definitions](catalogue.md) in every test run, and what they say. Versions are
pinned, with the hash of each package, in ` + "`e2e/clients/testdata/package-lock.json`" + ` and ` + "`tools/clients/go.sum`" + `.
` + "`make conformance`" + ` runs them; without npm or a Go module, the table says *not run*. ` + "`make conformance LATEST=1`" + ` installs the
newest versions into a temporary folder and prints what differs: versions, new exports and headers, and requests that are newly accepted
or refused. Most libraries are the providers' own; those for Discord, Forgejo and Slack in Go are by others.

- **It signs**: Holdfast accepts what the library signs, with either secret of a rotation, and refuses it once the body or the secret is
  another, or the signature is missing. If a time is signed, it refuses a request that is an hour old.
- **It verifies**: the library accepts what Holdfast signs, a request of every sample, and refuses it with a changed body.
- **Old request**: what the library says to a request that was signed an hour ago, if a time is signed. Holdfast refuses all of these.

`

// conformance is a row of the table.
type conformance struct {
	library, packages, definition string
	signs, verifies, oldSays      string
}

const notRun = "*not run*"

// The page has what the libraries say now. Without npm, `make conformance` prints the table without results.
func TestTheConformancePageIsCurrent(t *testing.T) {
	t.Parallel()
	into := os.Getenv("CONFORMANCE_TABLE")
	rows := rowsOf(t)
	if into == "" || installed() == nil {
		all := everyLibrary(t)
		for i := range rows {
			if at := slices.IndexFunc(all, func(l library) bool { return l.Name == rows[i].library }); at >= 0 {
				rows[i].fill(t, all[at])
			}
		}
	}
	table := tableOf(rows)
	if into != "" {
		require.NoError(t, os.WriteFile(into, []byte(table), 0o600))
	}
	if slices.ContainsFunc(rows, func(r conformance) bool { return r.signs == notRun }) {
		t.Skip("not all libraries have run: npm, node or Go modules are missing")
	}
	want := aboveConformance + table
	if *update {
		require.NoError(t, os.WriteFile(conformancePage, []byte(want), 0o600))
		return
	}
	page, err := os.ReadFile(conformancePage)
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go test ./e2e/clients -run TestTheConformancePage -update")
}

func (c *conformance) fill(t *testing.T, l library) {
	t.Helper()
	c.signs, c.verifies, c.oldSays = "–", "–", "–"
	if l.Signs {
		c.signs = "yes"
	}
	if said := l.behaviour(t, l.provider(t, catalogueWith(t, l.Secret))); said != nil {
		require.Equal(t, accepted, said[genuine], l.Name)
		require.Equal(t, refused, said[mutated], l.Name)
		c.verifies = "yes"
		if said[old] != "" {
			c.oldSays = string(said[old])
		}
	}
}

func tableOf(rows []conformance) string {
	var b strings.Builder
	b.WriteString("| Library | Definition | It signs | It verifies | Old request |\n|---|---|---|---|---|\n")
	definitions := map[string]bool{}
	for _, r := range rows {
		definitions[r.definition] = true
		fmt.Fprintf(&b, "| %s | [`%s`](catalogue.md#%s) | %s | %s | %s |\n",
			r.packages, r.definition, r.definition, r.signs, r.verifies, r.oldSays)
	}
	fmt.Fprintf(&b, "\n%d libraries, %d definitions.\n", len(rows), len(definitions))
	return b.String()
}

var (
	providerLine = regexp.MustCompile(`(?m)^\s+[pP]rovider:\s+"(.+)",`)
	importLine   = regexp.MustCompile(`(?m)^import .* from "(?:\.\./node_modules/)?((?:@[^/"]+/)?[^/"]+)`)
	// A blank import is no library: one of them is there for a file in its module.
	goImportLine = regexp.MustCompile(`(?m)^(?:import |\t)(?:[a-z]\w* )?"([^/"]+\.[^/"]+/[^"]+)"`)
	moduleLine   = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`)
)

// rowsOf reads the files of the libraries, which needs neither npm nor a module.
func rowsOf(t *testing.T) []conformance {
	t.Helper()
	versions := lockedVersions(t)
	forNode := rowsIn(t, filepath.Join(folder, "libraries", "*.mjs"), "", func(text string) (packages []string) {
		for _, found := range importLine.FindAllStringSubmatch(text, -1) {
			if version := versions[found[1]]; version != "" {
				packages = append(packages, "`"+found[1]+"` "+version)
			}
		}
		return packages
	})
	modules, err := os.ReadFile(filepath.Join(goLibraries, "go.mod"))
	require.NoError(t, err)
	return append(forNode, rowsIn(t, filepath.Join(goLibraries, "*.go"), "go-", func(text string) (packages []string) {
		for _, found := range goImportLine.FindAllStringSubmatch(text, -1) {
			for _, module := range moduleLine.FindAllStringSubmatch(string(modules), -1) {
				if strings.HasPrefix(found[1]+"/", module[1]+"/") {
					packages = append(packages, "`"+module[1]+"` "+module[2])
				}
			}
		}
		return packages
	})...)
}

// rowsIn returns a row for each file that names a provider.
func rowsIn(t *testing.T, pattern, prefix string, packagesOf func(text string) []string) (rows []conformance) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		of := providerLine.FindSubmatch(text)
		if of == nil {
			continue
		}
		packages := packagesOf(string(text))
		require.NotEmpty(t, packages, file)
		slices.Sort(packages)
		rows = append(rows, conformance{
			library:    prefix + strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
			packages:   strings.Join(slices.Compact(packages), ", "),
			definition: string(of[1]), signs: notRun, verifies: notRun, oldSays: notRun,
		})
	}
	return rows
}

// lockedVersions returns the version of each package that package.json names, and checks that the lock file has its hash.
func lockedVersions(t *testing.T) map[string]string {
	t.Helper()
	var lock struct {
		Packages map[string]struct {
			Version, Integrity string
			Dependencies       map[string]string
		} `json:"packages"`
	}
	text, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lock))
	versions := map[string]string{}
	for name, wanted := range lock.Packages[""].Dependencies {
		locked := lock.Packages["node_modules/"+name]
		require.Equal(t, wanted, locked.Version, "%s isn't pinned", name)
		require.NotEmpty(t, locked.Integrity, name)
		versions[name] = locked.Version
	}
	return versions
}
