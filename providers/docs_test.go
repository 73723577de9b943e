package providers

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/" + name)
	require.NoError(t, err)
	return string(page)
}

const cataloguePage = "../docs/catalogue.md"

// The catalogue page is generated from the catalogue.
func TestCataloguePageIsCurrent(t *testing.T) {
	t.Parallel()
	want := catalogueInWords(t, catalogueOf(t))
	if *update {
		require.NoError(t, os.WriteFile(cataloguePage, []byte(want), 0o600))
		return
	}
	page, err := os.ReadFile(cataloguePage)
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go test ./providers -run TestCataloguePage -update")
}

const aboveCatalogue = `# The catalogue

<!-- Written by go test ./providers -run TestCataloguePage -update -->

The %d built-in providers: which variables hold their secrets, how requests are authenticated, and why their keys are made the way they
are. To connect one, see [provider-setup.md](provider-setup.md).

- **Secrets** are in the variable, or in the file that the variable with the suffix ` + "`_FILE`" + ` names. Without a secret a provider
  accepts nothing.
- **Evidence** is the strongest source of a definition:

| Evidence | Meaning |
|---|---|
| ` + "`vectors`" + ` | The sender has published signatures with their secret, and this definition accepts them |
| ` + "`library`" + ` | The definition does what the sender's own library does |
| ` + "`documentation`" + ` | The definition follows the sender's documentation |
| ` + "`observed`" + ` | The definition follows observed requests. Compare it with the first ones that you get |

With vectors or a library a definition is proven: %d are. Without either, and without a library that runs, it is *unproven*: compare it
with the first requests that you get. *runs* means that tests run the provider's own library, the one that its
documentation names, or a common one for Go (` + "`e2e/clients`" + `). It verifies what Holdfast signs, or Holdfast verifies what it
signs, and both refuse changed requests. That is so for %d providers: [what each of them says](conformance.md).

Tests check every definition with requests that it hasn't signed itself (` + "`providers/testdata/vectors`" + `). They also change the
secret, the body, each signed header, the time and the algorithm, and expect a refusal each time.

`

func catalogueInWords(t *testing.T, c *Catalogue) string {
	t.Helper()
	var b strings.Builder
	runs := librariesThatRun(t)
	proven := 0
	for _, name := range c.Names() {
		if p, _ := c.Lookup(name); p.Evidence().IsProven() {
			proven++
		}
	}
	fmt.Fprintf(&b, aboveCatalogue, len(c.Names()), proven, len(runs))
	b.WriteString("| Provider | Evidence | Scheme | Secrets |\n|---|---|---|---|\n")
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		evidence := p.Evidence().Text()
		if runs[name] {
			evidence = string(p.Evidence()) + ", runs"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | `%s` |\n", name, name, evidence, strings.Join(p.Schemes(), "; "),
			strings.Join(p.SecretNames(), "`, `"))
	}
	writeFacts(&b, c)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		writeEntry(&b, p)
	}
	return b.String()
}

// librariesThatRun returns the providers whose library e2e/clients runs.
func librariesThatRun(t *testing.T) map[string]bool {
	t.Helper()
	runs := map[string]bool{}
	for _, pattern := range []string{"../e2e/clients/testdata/libraries/*.mjs", "../tools/clients/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name := regexp.MustCompile(`(?m)^\s+[pP]rovider:\s+"(.+)",`).FindSubmatch(text)
			if filepath.Base(file) == "main.go" { // it has none of a library
				continue
			}
			require.NotNil(t, name, file)
			runs[string(name[1])] = true
		}
	}
	return runs
}

// writeEntry writes the section of one provider.
func writeEntry(b *strings.Builder, p *Provider) {
	d := p.Written()
	fmt.Fprintf(b, "\n## %s\n\n%s. Key: %s. Duplicates are recognized %s. Priority: %s.%s\n\n", p.Name(), p.Title(), keyInWords(d),
		windowInWords(p), priorityInWords(d), listInWords(p)+fetchesInWords(p))
	for _, source := range d.Sources {
		for _, e := range definition.Evidences {
			if text := e.Of(source); text != "" {
				fmt.Fprintf(b, "- %s: %s%s\n", strings.ToUpper(string(e[:1]))+string(e[1:]), linked(text), checkedOn(source.Checked))
			}
		}
	}
	if m := d.Maximum; m != nil {
		fmt.Fprintf(b, "- Largest body: %d bytes (<%s>, read on %s)\n", m.Bytes, m.Source, m.Checked)
	}
	b.WriteString("\n| | |\n|---|---|\n")
	for _, reason := range []struct{ of, text string }{
		{"Why this key", d.Why.Key}, {"A retry", d.Why.Retry}, {"A manual resend", d.Why.Resend},
		{"A second subscription", d.Why.Second}, {"The wrong key", d.Why.Wrong}, {"Where IDs are unique", d.Why.Scope}, {"Order", d.Why.Order},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", reason.of, strings.ReplaceAll(reason.text, "|", `\|`))
	}
}

func checkedOn(day string) string {
	if day == "" {
		return ""
	}
	return ", checked on " + day
}

// writeFacts lists what needs another check, counted from the newest check: the page doesn't change with the calendar.
func writeFacts(b *strings.Builder, c *Catalogue) {
	var facts []definition.Fact
	newest, undated := "", 0
	var without []string
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		dated := len(facts)
		for _, f := range p.Written().Facts() {
			if newest = max(newest, f.Checked); f.Checked == "" {
				undated++
				continue
			}
			facts = append(facts, f)
		}
		if len(facts) == dated {
			without = append(without, name)
		}
	}
	now, _ := time.Parse(time.DateOnly, newest)
	fmt.Fprintf(b, "\n## Facts to check again\n\nRetry schedules, tolerances and limits change. Each source says when the definition was last "+
		"compared with it;\n`holdfast doctor --facts` lists those for which that is over a year ago or unknown, and sends nothing. "+
		"Of %d sources, %d have no date.\nThese definitions have no dated source: `%s`.\n\nOver a year before %s, the newest check:\n\n",
		len(facts)+undated, undated, strings.Join(without, "`, `"), newest)
	old := slices.DeleteFunc(facts, func(f definition.Fact) bool { return !f.IsOld(now) })
	for _, f := range old {
		fmt.Fprintf(b, "- `%s`: %s, checked on %s\n", f.Provider, linked(f.Source), f.Checked)
	}
	if len(old) == 0 {
		b.WriteString("- None\n")
	}
}

// listInWords describes the list of events, "" if there is none.
func listInWords(p *Provider) string {
	list := p.Recovery()
	if list == nil {
		return ""
	}
	names := "`" + strings.Join(list.SecretNames(), "`, `") + "`"
	return fmt.Sprintf(" List of events: %s, %s back, with %s.", list, strings.TrimPrefix(windowOf(int64(list.Reach)), "for "), names)
}

// fetchesInWords names the paths from which the state behind thin events is fetched, and the variables of the credential.
func fetchesInWords(p *Provider) string {
	fetches := p.Fetches()
	if len(fetches) == 0 {
		return ""
	}
	var paths []string
	for _, f := range p.Written().Fetch {
		if path := "`" + f.Path + "`"; !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return " State of thin events: " + strings.Join(paths, ", ") + ", with `" + strings.Join(fetches[0].SecretNames(), "`, `") + "`."
}

func linked(text string) string {
	switch {
	case strings.HasPrefix(text, "https://"):
		return "<" + text + ">"
	case strings.Contains(text, "src/"): // a file of a library
		return "`" + text + "`"
	default:
		return text
	}
}

func keyInWords(d *definition.Definition) string {
	var parts []string
	hashed := false
	for _, part := range d.Key.Parts {
		if part.Expr == "body_sha256" {
			hashed = true
			parts = append(parts, "the body's hash")
			continue
		}
		text := "`" + strings.ReplaceAll(strings.Join(strings.Fields(string(part.Expr)), " "), "|", `\|`) + "`"
		if part.Optional {
			text += "?"
		}
		parts = append(parts, text)
	}
	if d.Key.Certainty == "guessed" {
		if d.Key.Delivery != "" {
			parts = append(parts, "`"+strings.ReplaceAll(string(d.Key.Delivery), "|", `\|`)+"` (the delivery ID)")
		}
		parts, hashed = append(parts, "the body's hash"), true
	}
	words := strings.Join(parts, " : ")
	switch {
	case hashed || d.Key.Fallback == "":
	case len(parts) > 0:
		words += ", or the body's hash"
	default:
		words = "the body's hash"
	}
	if slices.ContainsFunc(d.Overrides, func(o definition.Override) bool { return o.Key != nil }) {
		words += "; some types have their own"
	}
	return words
}

func windowInWords(p *Provider) string {
	switch d := p.Written(); {
	case d.Key.Certainty == "guessed" && d.Key.Delivery == "":
		return windowOf(hashWindow(d.Key))
	case d.Key.Certainty == "guessed":
		return "forever; without a delivery ID, " + windowOf(hashWindow(d.Key))
	case d.Key.Fallback != "":
		return windowOf(int64(p.DedupeWindow(""))) + "; by the body's hash, " + windowOf(hashWindow(d.Key))
	default:
		return windowOf(int64(p.DedupeWindow("")))
	}
}

// hashWindow returns how long a key without an ID counts, in nanoseconds: such keys differ only by the hash of the body.
func hashWindow(k *definition.Key) int64 {
	const minute, hour = int64(60e9), int64(3600e9)
	switch {
	case k.FallbackWindow != nil:
		return int64(*k.FallbackWindow)
	case k.InDoubt == "":
		return 15 * minute
	case k.RetrySpan != nil:
		return int64(*k.RetrySpan) + hour
	default:
		return hour
	}
}

// windowOf formats a duration as definitions do.
func windowOf(d int64) string {
	const day = int64(24 * 3600e9)
	switch {
	case d == 0:
		return "forever"
	case d%day == 0:
		return fmt.Sprintf("for %dd", d/day)
	default:
		return "for " + strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(event.Duration(d).String())
	}
}

func priorityInWords(d *definition.Definition) string {
	base := cmp.Or(d.Priority, string(event.PriorityNormal))
	words := base
	for _, o := range d.Overrides {
		if o.Priority != "" && o.Priority != base {
			words += "; " + o.Priority + ": `" + strings.Join(o.Types, "`, `") + "`"
		}
	}
	return words
}

// README and changelog state how many definitions are built in.
func TestPagesCountTheDefinitions(t *testing.T) {
	t.Parallel()
	n := len(catalogueOf(t).Names())
	require.Contains(t, readDocs(t, "../README.md"), fmt.Sprintf("[%d are built in]", n))
	require.Contains(t, readDocs(t, "../CHANGELOG.md"), fmt.Sprintf("- %d built-in definitions instead of 81", n))
}

// The pages state the limits of this package.
func TestPagesNameLimits(t *testing.T) {
	t.Parallel()
	require.Regexp(t, fmt.Sprintf(`(?m)^\| Reply of a handshake.* \| %d`, receiving.MaxChallengeReply), readDocs(t, "expressions.md"))
	require.Contains(t, readDocs(t, "providers.md"), fmt.Sprintf("at most %d", definition.MaxBodyLimit))
}
