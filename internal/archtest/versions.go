package archtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Floor is the oldest allowed version of a module, and what is wrong with older ones.
type Floor struct{ Module, Version, Why string }

// Floors are checked against the versions that the build selects, including indirect ones.
var Floors = []Floor{
	{"github.com/valyala/fasthttp", "v1.73.0", "Fiber asks for one of 2023; request smuggling and panics were fixed since"},
	{"github.com/gofiber/fiber/v2", "v2.52.15", "GHSA-c5qf-v26h-rp5r and the CVEs before it"},
	{"github.com/jackc/pgx/v5", "v5.9.2", "CVE-2026-33815, CVE-2026-33816, CVE-2026-41889"},
	{"google.golang.org/grpc", "v1.82.1", "GO-2026-6061"},
	{"go.opentelemetry.io/otel", "v1.44.0", "CVE-2026-29181, CVE-2026-41178: headers of strangers exhaust the memory"},
	{"github.com/klauspost/compress", "v1.18.7", "decompression that does not end"},
}

// CheckVersions returns a sentence for each floor that the selected version (by module) is below. A module outside the build
// passes.
func CheckVersions(selected map[string]string, floors []Floor) []string {
	var breaches []string
	for _, f := range floors {
		if version, ok := selected[f.Module]; ok && slices.Compare(numbers(version), numbers(f.Version)) < 0 {
			breaches = append(breaches, fmt.Sprintf("%s %s is older than %s: %s", f.Module, version, f.Version, f.Why))
		}
	}
	return breaches
}

// numbers turns "v1.2.3-rc1" into 1, 2, 3. A pre-release counts as its release, which is close enough for a floor.
func numbers(version string) []int {
	release, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var parts []int
	for part := range strings.SplitSeq(release, ".") {
		n, _ := strconv.Atoi(part)
		parts = append(parts, n)
	}
	return parts
}

// SelectedVersions returns the versions of the modules used to build the packages and tests of the module in root. (`go list -m
// all` would list more, and needs the network for unused ones.)
func SelectedVersions(root string) (map[string]string, error) {
	out, err := run(root, "list", "-e", "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	selected := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			selected[path] = version
		}
	}
	return selected, nil
}
