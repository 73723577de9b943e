package definition

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedParts are structures that the page describes only once.
var sharedParts = regexp.MustCompile(`^(overrides\[\]\.(key|occurred_at|entities|retry)|auth\[\]\.(ed25519|ecdsa|rsa|hash)|auth\[\]\.certificate\.(secrets|signed|partial|key_prefix|signature|timestamp|id|body_hash)|challenges\[\]\.auth)([.\[]|$)`)

// fieldsOf collects the paths of the fields of a definition in the page's notation.
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
		if strings.HasSuffix(prefix, "key.before") { // a key within a key
			into[prefix] = true
			return
		}
		into[prefix] = false // its own fields are required instead
		for _, f := range schemaFields(kind) {
			fieldsOf(strings.TrimPrefix(prefix+"."+f.name, "."), f.kind, into)
		}
	default:
		into[prefix] = true
	}
}

// The reference has exactly the fields of a definition.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/providers.md")
	require.NoError(t, err)
	_, reference, ok := strings.Cut(string(page), "\n## Reference\n")
	require.True(t, ok)
	reference, _, ok = strings.Cut(reference, "\n## The bulk lane\n")
	require.True(t, ok)
	fields := map[string]bool{}
	fieldsOf("", reflect.TypeFor[Definition](), fields)
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
