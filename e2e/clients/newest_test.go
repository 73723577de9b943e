package clients

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// surveyed is a package as testdata/survey.mjs sees it.
type surveyed struct {
	Version string   `json:"version"`
	Exports []string `json:"exports"`
	Headers []string `json:"headers"`
}

// TestTheNewestLibraries compares the newest versions, in the folder NEWEST and the program NEWEST_GO, with the pinned ones, and
// writes the differences to the file NEWEST_REPORT. It fails if a library no longer verifies what Holdfast signs, or accepts a
// changed body. `make conformance LATEST=1` runs it.
func TestTheNewestLibraries(t *testing.T) {
	t.Parallel()
	at := os.Getenv("NEWEST")
	if at == "" {
		t.Skip("`make conformance LATEST=1` runs it: it installs the newest libraries")
	}
	pinned := libraries(t)
	newest, err := startNode(at)
	require.NoError(t, err)
	var before, after map[string]surveyed
	require.NoError(t, pinned.ask(call{Call: "survey"}, &before))
	require.NoError(t, newest.ask(call{Call: "survey"}, &after))
	report := packageChanges(before, after)
	forGo, err := start(exec.Command(os.Getenv("NEWEST_GO")))
	require.NoError(t, err)
	modules := modulesOf(t, filepath.Dir(os.Getenv("NEWEST_GO")))
	report = append(report, packageChanges(modulesOf(t, goLibraries), modules)...)
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		if newer := newestMajor(t, path, modules[path].Version); newer != "" {
			report = append(report, fmt.Sprintf("%s %s → %s (a newer major)", path, modules[path].Version, newer))
		}
	}
	old := everyLibrary(t)
	for _, l := range slices.Concat(newest.library, forGo.library) {
		at := slices.IndexFunc(old, func(one library) bool { return one.Name == l.Name })
		require.GreaterOrEqual(t, at, 0, l.Name)
		of, failed := libraryChanges(t, old[at], l)
		report = append(report, of...)
		for _, why := range failed {
			t.Errorf("%s: %s", l.Name, why)
		}
	}
	text := reportOf(report, len(after)+len(modules), len(newest.library)+len(forGo.library))
	require.NoError(t, os.WriteFile(os.Getenv("NEWEST_REPORT"), []byte(text), 0o600))
}

// reportOf returns the report of all changes. It ends with the next step.
func reportOf(changes []string, packages, libraries int) string {
	end := fmt.Sprintf("%d packages, %d libraries compared: ", packages, libraries)
	if len(changes) == 0 {
		return end + "nothing has changed.\n"
	}
	end += "pin the newer ones (npm install --ignore-scripts --save-exact in e2e/clients/testdata, go get in tools/clients), " +
		"correct the definitions of those that behave differently, and run make conformance."
	return strings.Join(append(changes, end), "\n") + "\n"
}

// A report without changes says so; one with changes ends with what to do.
func TestAReportEndsWithTheNextStep(t *testing.T) {
	t.Parallel()
	require.Equal(t, "90 packages, 91 libraries compared: nothing has changed.\n", reportOf(nil, 90, 91))
	require.Regexp(t, `^a 1.0.0 → 1.1.0\n2 packages, 1 libraries compared: pin the newer ones .* run make conformance\.\n$`,
		reportOf([]string{"a 1.0.0 → 1.1.0"}, 2, 1))
}

// modulesOf returns the versions in a go.mod.
func modulesOf(t *testing.T, dir string) map[string]surveyed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	all := map[string]surveyed{}
	for _, module := range moduleLine.FindAllStringSubmatch(string(text), -1) {
		all[module[1]] = surveyed{Version: strings.TrimPrefix(module[2], "v")}
	}
	return all
}

var majorPath = regexp.MustCompile(`^(.+)/v(\d+)$`)

// nextMajor returns the path of a Go module's next major version, which is another module.
func nextMajor(path, version string) string {
	if found := majorPath.FindStringSubmatch(path); found != nil {
		path, version = found[1], found[2]
	}
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return fmt.Sprintf("%s/v%d", path, max(n, 1)+1)
}

// newestMajor returns the module with the highest major version after one, and its version; "" if there is none, or if the module
// proxy doesn't answer.
func newestMajor(t *testing.T, path, version string) (newest string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	for next := nextMajor(path, version); ; next = nextMajor(next, "") {
		found, err := exec.CommandContext(ctx, "go", "list", "-C", goLibraries, "-mod=mod", "-m", next+"@latest").Output()
		if err != nil {
			return newest
		}
		newest = strings.TrimSpace(string(found))
	}
}

func packageChanges(before, after map[string]surveyed) (report []string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, is := before[name], after[name]
		if was.Version == is.Version {
			continue
		}
		line := fmt.Sprintf("%s %s → %s", name, was.Version, is.Version)
		if major(was.Version) != major(is.Version) {
			line += " (a newer major)"
		}
		report = append(report, line)
		for _, of := range []struct {
			what      string
			were, are []string
		}{{"exports", was.Exports, is.Exports}, {"headers", was.Headers, is.Headers}} {
			if added := without(of.are, of.were); len(added) > 0 {
				report = append(report, "  new "+of.what+": "+strings.Join(added, ", "))
			}
			if gone := without(of.were, of.are); len(gone) > 0 {
				report = append(report, "  "+of.what+" that are gone: "+strings.Join(gone, ", "))
			}
		}
	}
	return report
}

// libraryChanges returns what a newer version does otherwise, and what is wrong with that.
func libraryChanges(t *testing.T, pinned, newest library) (report, failed []string) {
	t.Helper()
	if newest.Error != "" {
		return nil, []string{"it can't be loaded: " + newest.Error}
	}
	p := pinned.provider(t, catalogueWith(t, pinned.Secret))
	was, is := pinned.behaviour(t, p), newest.behaviour(t, p)
	for _, change := range slices.Sorted(slices.Values(changes(was, is))) {
		report = append(report, newest.Name+": "+change)
	}
	if newest.Verifies && is[genuine] != accepted {
		failed = append(failed, "it refuses what Holdfast signs")
	}
	if newest.Verifies && is[mutated] != refused {
		failed = append(failed, "it accepts a changed body")
	}
	if newest.Signs {
		signed := newest.sign(t, sampleOf(t, p, p.SampleTypes()[0], uniqueID()), newest.signing(), time.Now())
		catalogue := newest.publishing(t, catalogueWith(t, newest.Secret))
		if why := explanation(t, catalogue, p.Name(), signed).Refused; why != "" {
			failed = append(failed, "Holdfast refuses what it signs: "+string(why))
		}
	}
	return report, failed
}

func without(all, others []string) (rest []string) {
	for _, one := range all {
		if !slices.Contains(others, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

// A library that is the pinned one has no changes, and Holdfast accepts what it signs.
func TestNoPinnedLibraryHasChanges(t *testing.T) {
	t.Parallel()
	for _, l := range everyLibrary(t) {
		if !l.Signs {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			report, failed := libraryChanges(t, l, l)
			require.Empty(t, report)
			require.Empty(t, failed)
		})
	}
}

// The next major version of a Go module has a path of its own.
func TestTheNextMajorIsAnotherModule(t *testing.T) {
	t.Parallel()
	for of, next := range map[[2]string]string{
		{"a.com/b/v82", "82.5.1"}: "a.com/b/v83", {"a.com/b", "1.8.0"}: "a.com/b/v2", {"a.com/b", "0.29.0"}: "a.com/b/v2",
		{"a.com/b", "3.16.1+incompatible"}: "a.com/b/v4", {"a.com/b/v4", ""}: "a.com/b/v5",
	} {
		require.Equal(t, next, nextMajor(of[0], of[1]))
	}
}

// A version that verifies otherwise is reported, and fails if it no longer fits the definition.
func TestChangesOfANewerVersionAreReported(t *testing.T) {
	t.Parallel()
	pinned := libraries(t).byName(t, "stripe")
	for name, c := range map[string]struct{ verify, report, failed string }{
		"accepts anything": {"() => true", "stripe: newly accepted: a request without a signature", "it accepts a changed body"},
		"accepts nothing":  {"() => false", "stripe: newly refused: a request as signed", "it refuses what Holdfast signs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for _, file := range []string{"main.mjs", "survey.mjs"} {
				require.NoError(t, os.Link("testdata/"+file, folder+"/"+file))
			}
			require.NoError(t, os.Mkdir(folder+"/libraries", 0o700))
			text := fmt.Sprintf("export default {provider: %q, secret: %q, verify: %s};", pinned.Provider, pinned.Secret, c.verify)
			require.NoError(t, os.WriteFile(folder+"/libraries/stripe.mjs", []byte(text), 0o600))
			newest, err := startNode(folder)
			require.NoError(t, err)
			report, failed := libraryChanges(t, pinned, newest.byName(t, "stripe"))
			require.Contains(t, report, c.report)
			require.Equal(t, []string{c.failed}, failed)
		})
	}
}

// Newer versions are listed with what is new in them; a newer major says so.
func TestChangesOfPackagesAreListed(t *testing.T) {
	t.Parallel()
	before := map[string]surveyed{
		"a": {"1.4.0", []string{"verify"}, []string{"x-signature"}}, "b": {"0.3.1", nil, nil}, "c": {"2.0.0", nil, nil},
	}
	after := map[string]surveyed{
		"a": {"2.0.0", []string{"unwrap"}, []string{"webhook-signature", "x-signature"}}, "b": {"0.4.0", nil, nil}, "c": {"2.0.0", nil, nil},
	}
	require.Equal(t, []string{
		"a 1.4.0 → 2.0.0 (a newer major)", "  new exports: unwrap", "  exports that are gone: verify", "  new headers: webhook-signature",
		"b 0.3.1 → 0.4.0 (a newer major)",
	}, packageChanges(before, after))
}
