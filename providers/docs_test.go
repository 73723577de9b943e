package providers

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

const docsPage = "../docs/providers.md"

func readDocs(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(docsPage)
	require.NoError(t, err)
	return string(page)
}

// The table of the catalogue is written from the catalogue.
func TestCataloguePageIsCurrent(t *testing.T) {
	t.Parallel()
	page := readDocs(t)
	head, rest, ok := strings.Cut(page, "-update -->\n")
	require.True(t, ok)
	table, tail, ok := strings.Cut(rest, "<!-- /catalogue -->")
	require.True(t, ok)
	want := catalogueTable(catalogueOf(t))
	if *update {
		require.NoError(t, os.WriteFile(docsPage, []byte(head+"-update -->\n"+want+"<!-- /catalogue -->"+tail), 0o600))
		return
	}
	require.Equal(t, want, table, "run go test ./providers -run TestCataloguePage -update")
}

func catalogueTable(c *Catalogue) string {
	var b strings.Builder
	b.WriteString("\n| Provider | Scheme | Secrets | Key | Window | Priority |\n|---|---|---|---|---|---|\n")
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s |\n", name, strings.Join(p.Schemes(), "; "),
			strings.Join(p.SecretNames(), "`, `"), keyInWords(p.Written()), windowInWords(p), priorityInWords(p.Written()))
	}
	b.WriteString("\n")
	return b.String()
}

func keyInWords(d *definition) string {
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
	words := strings.Join(parts, " : ")
	switch {
	case hashed || d.Key.Fallback == "":
	case len(parts) > 0:
		words += ", or the body's hash"
	default:
		words = "the body's hash"
	}
	if slices.ContainsFunc(d.Overrides, func(o overrideDefinition) bool { return o.Key != nil }) {
		words += "; some types have their own"
	}
	return words
}

func windowInWords(p *Provider) string {
	words := windowOf(int64(p.DedupeWindow("")))
	if d := p.Written(); d.Key.Fallback != "" {
		window := int64(15 * 60e9)
		if d.Key.FallbackWindow != nil {
			window = int64(*d.Key.FallbackWindow)
		}
		words += "; by hash " + windowOf(window)
	}
	return words
}

func windowOf(d int64) string {
	const minute, hour, day = int64(60e9), int64(3600e9), int64(24 * 3600e9)
	switch {
	case d == 0:
		return "for ever"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%hour == 0:
		return fmt.Sprintf("%dh", d/hour)
	}
	return fmt.Sprintf("%dm", d/minute)
}

func priorityInWords(d *definition) string {
	base := cmp.Or(d.Priority, string(event.PriorityNormal))
	words := base
	for _, o := range d.Overrides {
		if o.Priority != "" && o.Priority != base {
			words += "; " + o.Priority + ": `" + strings.Join(o.Types, "`, `") + "`"
		}
	}
	return words
}

// sharedParts are structures that the page describes once, where they stand first.
var sharedParts = regexp.MustCompile(`^(overrides\[\]\.(key|occurred_at|entities|retry)|auth\[\]\.ed25519)[.\[]`)

// fieldsOf collects the paths of the fields of a definition as the page writes them.
func fieldsOf(prefix string, kind reflect.Type, into map[string]bool) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind.Kind() {
	case reflect.Slice:
		fieldsOf(prefix+"[]", kind.Elem(), into)
	case reflect.Map:
		fieldsOf(prefix+".NAME", kind.Elem(), into)
	case reflect.Struct:
		into[prefix] = false // it has fields of its own, which must be there
		for _, f := range schemaFields(kind) {
			fieldsOf(strings.TrimPrefix(prefix+"."+f.name, "."), f.kind, into)
		}
	default:
		into[prefix] = true
	}
}

// The reference has every field of a definition, and no other.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	_, reference, ok := strings.Cut(readDocs(t), "\n## Reference\n")
	require.True(t, ok)
	reference, _, ok = strings.Cut(reference, "\n## Expressions\n")
	require.True(t, ok)
	fields := map[string]bool{}
	fieldsOf("", reflect.TypeFor[definition](), fields)
	told := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(reference, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			told[name[1]] = true
		}
	}
	for field, needed := range fields {
		if needed && !sharedParts.MatchString(field) {
			require.Contains(t, told, field, "docs/providers.md does not describe it")
		}
	}
	for field := range told {
		_, exists := fields[field]
		_, list := fields[strings.TrimSuffix(field, "[]")]
		require.True(t, exists || list, "docs/providers.md describes %s, which is no field", field)
	}
}

// The page names every rule of the linter, every variable of a signed template, and the numbers that bound things.
func TestPageNamesRulesAndLimits(t *testing.T) {
	t.Parallel()
	page := readDocs(t)
	for _, rule := range []Rule{
		RuleInvalid, RuleNoSamples, RuleSampleFails, RuleSampleType, RuleSharedKey, RuleUnreachable, RuleUnscoped, RuleUnsigned,
		RuleSecret,
	} {
		require.Contains(t, page, "| `"+string(rule)+"` |")
	}
	for _, variable := range contentVariables {
		require.Contains(t, page, "`{"+variable+"}`")
	}
	for row, number := range map[string]int{
		"Values that `each` may give": maxOutputs, "Entities of one event": maxChanges, "Events of one batch": maxItems,
		"Depth of JSON": maxDepth, "A kept header or parameter": maxKeptValue, "A header with signatures": maxSignatureHeader,
		"ID of an entity": maxExternalID, "Reply of a handshake": maxChallengeReply,
	} {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row)+`.* \| `+fmt.Sprint(number), page)
	}
	require.Contains(t, page, fmt.Sprintf("at most %d", maxBodyLimit))
}
