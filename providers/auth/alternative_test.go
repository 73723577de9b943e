package auth

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// byAlgorithm has SHA-1 by default, and SHA-512 if the header x-settings says so.
const byAlgorithm = `
name: acme
auth:
  - hmac: {secrets: OLD_SECRET, algorithm: sha1, signed: "{body}", signature: {header: x-s}}
  - when: {header: X-Settings, field: algorithm, value: HMAC_SHA512}
    hmac: {secrets: NEW_SECRET, algorithm: sha512, signed: "{body}", signature: {header: x-s}}
`

// A header chooses among the schemes that name it. Any other value means the schemes without a choice.
func TestAHeaderChoosesAScheme(t *testing.T) {
	t.Parallel()
	s := sendersOf(t, fstest.MapFS{"acme.yaml": {Data: []byte(byAlgorithm)}})["acme"]
	only := func(name string) Secrets {
		return func(asked string) []string {
			if asked == name {
				return []string{secretOfTests}
			}
			return nil
		}
	}
	older, newer := s.WithSecrets(only("OLD_SECRET")), s.WithSecrets(only("NEW_SECRET"))
	for name, c := range map[string]struct {
		signer   *Authenticator
		settings []string
		reason   denial.Reason
	}{
		"no header":                  {older, nil, ""},
		"an empty header":            {older, []string{""}, ""},
		"another field":              {older, []string{"version=HMAC_SHA512"}, ""},
		"an unknown value":           {older, []string{"algorithm=HMAC_SHA3"}, ""},
		"its value":                  {newer, []string{"key=k1, algorithm = hmac_sha512 "}, ""},
		"the first one that has any": {newer, []string{"algorithm=,algorithm=HMAC_SHA512,algorithm=x"}, ""},
		"a secret of another scheme": {older, []string{"algorithm=HMAC_SHA512"}, denial.NoSecret},
		"the chosen one, without it": {newer, nil, denial.NoSecret},
		"two headers":                {newer, []string{"algorithm=HMAC_SHA512", "algorithm=x"}, denial.AmbiguousHeader},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Request{Body: []byte(`{"id":1}`)}
			require.NoError(t, c.signer.SignWithSecrets(r, clock))
			delete(r.Header, "x-settings")
			if c.settings != nil {
				r.Header["x-settings"] = c.settings
			}
			err := c.signer.Authenticate(r, clock)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, c.reason, denial.ReasonOf(err))
		})
	}
}

// What is signed with a chosen scheme says so.
func TestSigningNamesTheChosenScheme(t *testing.T) {
	t.Parallel()
	s := sendersOf(t, fstest.MapFS{"acme.yaml": {Data: []byte(byAlgorithm)}})["acme"]
	for _, one := range s.with(secretOfTests).Alternatives() {
		r := &Request{Body: []byte(`{"id":1}`)}
		require.NoError(t, one.SignWithSecrets(r, clock))
		require.NoError(t, s.with(secretOfTests).Authenticate(r, clock))
	}
}

// A definition says what a request without the header gets, and names the header and its value.
func TestInvalidChoices(t *testing.T) {
	t.Parallel()
	const hmac = `hmac: {secrets: A_SECRET, signed: "{body}", signature: {header: x-s}}`
	for text, problem := range map[string]string{
		"auth:\n  - when: {header: x-a, value: b}\n    " + hmac:                             "has no scheme without when",
		"auth:\n  - " + hmac + "\n  - when: {header: x-a}\n    " + hmac:                     "auth[1].when.value",
		"auth:\n  - " + hmac + "\n  - when: {value: x-a}\n    " + hmac:                      "auth[1].when.header",
		"auth:\n  - " + hmac + "\n  - when: {header: x-a, value: b, other: c}\n    " + hmac: "other",
	} {
		var p definition.Problems
		files, err := definition.Collect(fstest.MapFS{"acme.yaml": {Data: []byte("name: acme\n" + text)}})
		require.NoError(t, err)
		d, _ := p.Read(files, files["acme"])
		New(&p, d.Auth, d.Secrets, nil)
		require.ErrorContains(t, p.Err(), problem)
	}
}

// Each form of a URL comes once, also if a query is empty, has invalid escapes, or repeats names.
func TestFormsOfAURL(t *testing.T) {
	t.Parallel()
	const at, port = "https://h.example/p", "https://h.example:443/p"
	for signed, all := range map[string]map[string][]string{
		"{url}":         {"?a='": {at + "?a='", port + "?a='"}},
		"{url:decoded}": {"?a=%27%2F%26%c3": {at + "?a=%27%2F%26%c3", port + "?a=%27%2F%26%c3", at + "?a='/%26%c3", port + "?a='/%26%c3"}},
		"{url:normalized}": {
			"":         {at, port},
			"?":        {at + "?", port + "?"},
			"?a=1&b=2": {at + "?a=1&b=2", port + "?a=1&b=2"},
			"?a='":     {at + "?a='", port + "?a='", at + "?a=%27", port + "?a=%27"},
			"?a=%zz":   {at + "?a=%zz", port + "?a=%zz", at + "?a=%25zz", port + "?a=%25zz"},
		},
	} {
		var p definition.Problems
		c := newContent(&p, "signed", signed)
		require.NoError(t, p.Err())
		for query, forms := range all {
			require.Equal(t, forms, c.urls(&Request{URL: at + query}), query)
		}
	}
	var p definition.Problems
	newContent(&p, "signed", "{url:other}")
	require.Error(t, p.Err())
}
