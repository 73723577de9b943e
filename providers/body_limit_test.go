package providers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// What a provider documents must not be refused for its size. Beyond what a definition can set, README names the exception.
func TestNoDefinitionRefusesTheMaximumOfItsSender(t *testing.T) {
	t.Parallel()
	catalogue, err := Load("")
	require.NoError(t, err)
	documented := 0
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		m := p.Written().Maximum
		if m == nil {
			continue
		}
		documented++
		p = p.Bound(func(string) []string { return append(auth.TrialSecrets(), "192.0.2.1/32") })
		require.GreaterOrEqual(t, p.BodyLimit(0), min(m.Bytes, definition.MaxBodyLimit), name)
		require.Equal(t, p.BodyLimit(0), p.BodyLimit(1), "HOLDFAST_INGRESS_BODY_LIMIT doesn't lower what %s documents", name)
		require.Regexp(t, "^https://", m.Source, name)
		if m.Bytes > definition.MaxBodyLimit {
			require.Contains(t, readDocs(t, "../README.md"), p.Title(), "a limit of %s below its maximum is a known one", name)
		}
	}
	require.NotZero(t, documented)
}

// A body_limit that an operator sets below the maximum is meant; the catalogue's own is a mistake that this test finds.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	const maximum = "maximum: {bytes: %d, source: \"https://example.com/limits\", checked: 2026-11-28}\ntype:"
	for name, c := range map[string]struct {
		fields  string
		secret  bool
		ceiling int
		want    int
	}{
		"with a secret":                            {"type:", true, 0, 4 << 20},
		"without a secret":                         {"type:", false, 0, 256 << 10},
		"lowered for all":                          {"type:", true, 1 << 20, 1 << 20},
		"lowered for all, without a secret":        {"type:", false, 1 << 10, 1 << 10},
		"lowered less than the limit of strangers": {"type:", false, 1 << 20, 256 << 10},
		"its own":                                    {"body_limit: 9000000\ntype:", true, 1 << 20, 9000000},
		"its own, without a secret":                  {"body_limit: 9000000\ntype:", false, 0, 256 << 10},
		"its own, small, without a secret":           {"body_limit: 1000\ntype:", false, 0, 1000},
		"a small documented maximum":                 {fmt.Sprintf(maximum, 1000), true, 1 << 20, 4 << 20},
		"a large documented maximum":                 {fmt.Sprintf(maximum, 9000000), true, 1 << 20, 9000000},
		"a documented maximum beyond the possible":   {fmt.Sprintf(maximum, 90000000), true, 0, 25 << 20},
		"a documented maximum, with its own limit":   {"body_limit: 1000\n" + fmt.Sprintf(maximum, 9000000), true, 0, 1000},
		"a documented maximum, but without a secret": {fmt.Sprintf(maximum, 9000000), false, 0, 256 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := loadOne(t, strings.Replace(minimal, "type:", c.fields, 1))
			require.NoError(t, err)
			if !c.secret {
				p = p.Bound(secretsOf())
			}
			require.Equal(t, c.want, p.BodyLimit(c.ceiling))
		})
	}
}

func TestAMaximumNamesItsSource(t *testing.T) {
	t.Parallel()
	var problems definition.Problems
	problems.CheckMaximum("maximum", &definition.Maximum{Checked: time.Now().Format(time.RFC1123)})
	text := fmt.Sprint(problems.Err())
	for _, field := range []string{"maximum.bytes", "maximum.source", "maximum.checked"} {
		require.Contains(t, text, field)
	}
}
