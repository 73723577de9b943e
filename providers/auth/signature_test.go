package auth

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// One of several headers with a signature is enough. What isn't a signature is skipped, and there is a limit.
func TestSeveralSignatureHeaders(t *testing.T) {
	t.Parallel()
	const numberedHeaders = "name: acme\nsecrets: A_SECRET\nauth:\n" +
		`  - hmac: {signed: "{body}", signature: {header: x-s-, numbered: 3}}`
	const repeatedHeader = "name: acme\nsecrets: A_SECRET\nauth:\n" +
		`  - hmac: {signed: "{body}", signature: {header: x-s, repeated: true, grammar: prefix, prefix: "v0="}}`
	wrong := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		definition string
		headers    func(good string) map[string][]string
		reason     denial.Reason
	}{
		"the last":      {numberedHeaders, func(good string) map[string][]string { return map[string][]string{"x-s-1": {wrong}, "x-s-3": {good}} }, ""},
		"behind no hex": {numberedHeaders, func(good string) map[string][]string { return map[string][]string{"x-s-1": {"?"}, "x-s-3": {good}} }, ""},
		"beyond them":   {numberedHeaders, func(good string) map[string][]string { return map[string][]string{"x-s-4": {good}} }, denial.MissingSignature},
		"too many": {numberedHeaders, func(good string) map[string][]string {
			return map[string][]string{"x-s-1": {wrong, wrong, wrong}, "x-s-3": {good}}
		}, denial.TooManySignatures},
		"repeated":       {repeatedHeader, func(good string) map[string][]string { return map[string][]string{"x-s": {"v1=" + wrong, good}} }, ""},
		"none is valid":  {repeatedHeader, func(string) map[string][]string { return map[string][]string{"x-s": {"v0=" + wrong, "v0=" + wrong}} }, denial.BadSignature},
		"all are others": {repeatedHeader, func(string) map[string][]string { return map[string][]string{"x-s": {"v1=" + wrong, "?"}} }, denial.MalformedHeader},
		"none":           {repeatedHeader, func(string) map[string][]string { return nil }, denial.MissingSignature},
		"eleven": {repeatedHeader, func(good string) map[string][]string {
			return map[string][]string{"x-s": slices.Repeat([]string{good}, 11)}
		}, denial.TooManySignatures},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compiled(t, c.definition)
			r := &Request{Body: []byte(`{"id":1}`)}
			require.NoError(t, s.Sign(r, secretOfTests, clock))
			for _, values := range r.Header {
				r.Header = c.headers(values[0])
			}
			err := s.Authenticate(r, clock)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, c.reason, denial.ReasonOf(err))
		})
	}
	for _, signature := range []string{"{header: x-s, numbered: 101}", "{header: x-s, numbered: -1}", "{header: x-s, numbered: 2, repeated: true}", "{body: s, repeated: true}"} {
		var p definition.Problems
		files, err := definition.Collect(fstest.MapFS{"acme.yaml": {Data: []byte("name: acme\nauth:\n  - hmac: {secrets: A_SECRET, signed: \"{body}\", signature: " + signature + "}")}})
		require.NoError(t, err)
		d, _ := p.Read(files, files["acme"])
		New(&p, d.Auth, d.Secrets, nil)
		require.Error(t, p.Err(), signature)
	}
}
