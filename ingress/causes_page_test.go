package ingress

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
)

var update = flag.Bool("update", false, "write docs/refusal-causes.md")

const aboveCauses = `# Causes of refused requests

<!-- Written by go test ./ingress -run TestTheCausesPage -update -->

Look up why a request was refused, and what to do. To see the causes of your own requests: [refusals.md](refusals.md).

| Cause | Meaning | What to do |
|---|---|---|
`

// The page has every cause with its meaning and next step.
func TestTheCausesPage(t *testing.T) {
	t.Parallel()
	const name = "../docs/refusal-causes.md"
	var page strings.Builder
	page.WriteString(aboveCauses)
	row := func(name string, cause denial.Cause) {
		require.NotEmpty(t, cause.Means, name)
		require.NotEmpty(t, cause.Next, name)
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, cause.Means, cause.Next)
	}
	for _, reason := range denial.Reasons() {
		row(string(reason), reason.Cause())
	}
	for _, own := range slices.Sorted(maps.Keys(causes)) {
		row(string(own), causes[own])
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(page.String()), 0o600))
		return
	}
	written, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(written), "run go test ./ingress -run TestTheCausesPage -update")
}
