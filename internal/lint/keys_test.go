package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A key that will eventually lose or double events gets advice; one whose facts are stated gets none.
func TestAdviceAboutKeys(t *testing.T) {
	t.Parallel()
	rules := []Rule{RuleRetryFacts, RuleShortWindow, RuleReplay, RuleCounter}
	const signedTime = "\n      timestamp: {header: x-acme-time, unit: s, tolerance: 300s}"
	const id = "key: {certainty: certain, parts: [.body.id]}"
	attempts := "\nsamples: {a: {body: '{id: .id, type: \"a\", deliveryAttempt: 1}'}}\n"
	for name, c := range map[string]struct {
		key, signed, rest string
		rule              Rule
	}{
		"no retry facts":             {key: "key: {certainty: guessed, in_doubt: hold}", rule: RuleRetryFacts},
		"a retry span":               {key: "key: {certainty: guessed, in_doubt: hold, retry_span: 1h}"},
		"shorter than the tolerance": {key: id + "\ndedupe: 1m", signed: signedTime, rule: RuleShortWindow},
		"longer than the tolerance":  {key: id + "\ndedupe: 1h", signed: signedTime},
		"no signed time":             {key: id + "\ndedupe: 1h", rule: RuleReplay},
		"no signed time, for ever":   {key: id + "\ndedupe: forever"},
		"a counter in the hash":      {key: "key: {certainty: guessed, in_doubt: hold, retry_span: 1h}", rest: attempts, rule: RuleCounter},
		"a counter that varies": {
			key: "key: {certainty: guessed, varies: [deliveryAttempt], in_doubt: hold, retry_span: 1h}", rest: attempts,
		},
		"a counter next to a certain ID": {key: id, rest: attempts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(minimal, "key: {parts: [.body.id]}", c.key, 1) + c.rest
			if c.signed != "" {
				text = strings.Replace(text, `signed: "{body}"`, `signed: "{timestamp}{body}"`+c.signed, 1)
			}
			checked, err := CheckPath(writeDefinitions(t, map[string]string{"acme.yaml": text}), secretsOf(secretOfTests))
			require.NoError(t, err)
			var found []Rule
			for _, f := range checked.Findings {
				require.NotEqual(t, RuleInvalid, f.Rule, f.Message)
				for _, rule := range rules {
					if f.Rule == rule {
						require.Equal(t, rule != RuleShortWindow, f.Advice)
						found = append(found, rule)
					}
				}
			}
			if c.rule == "" {
				require.Empty(t, found)
			} else {
				require.Equal(t, []Rule{c.rule}, found)
			}
		})
	}
}
