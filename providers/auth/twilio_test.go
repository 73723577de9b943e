package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
)

// Twilio signs its URL and the fields of a form. For any other body, a signature over the URL alone covers none of it.
func TestTwilioCoversTheWholeBody(t *testing.T) {
	t.Parallel()
	p := senderOf(t, "twilio", secretOfTests)
	const form = decode.FormType
	const address = "https://hooks.example.com/webhooks/twilio"
	sum := sha256.Sum256([]byte(`{"id":"1"}`))
	hashed := address + "?bodySHA256=" + hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		url, signed, sent string
		kinds             []string
		reason            denial.Reason
	}{
		"as signed":                   {address, "MessageSid=SM1", "MessageSid=SM1", []string{form}, ""},
		"no body at all":              {address, "", "", []string{form}, ""},
		"a broken escape":             {address, "", "%zz=1", []string{form}, denial.UnsignedBody},
		"a semicolon":                 {address, "", "MessageSid=SM1;x", []string{form}, denial.UnsignedBody},
		"a broken escape in the end":  {address, "MessageSid=SM1", "MessageSid=SM1&%", []string{form}, denial.UnsignedBody},
		"separators alone":            {address, "", "&&&", []string{form}, denial.UnsignedBody},
		"JSON that is hashed":         {hashed, "", `{"id":"1"}`, []string{"application/json"}, ""},
		"nothing in place of JSON":    {hashed, "", "", []string{"application/json"}, denial.ModifiedBody},
		"separators in place of JSON": {hashed, "", "&", []string{form}, denial.ModifiedBody},
		"two types of content":        {address, "MessageSid=SM1", "MessageSid=SM1", []string{form, "a/b"}, denial.AmbiguousHeader},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, err := url.Parse(c.url)
			require.NoError(t, err)
			r := &Request{Method: "POST", Path: target.Path, URL: c.url, Query: target.Query(), Body: []byte(c.signed)}
			r.SetHeader("content-type", form)
			s := p.schemes[0].scheme.(*hmacScheme)
			require.NoError(t, s.sign(r, []string{secretOfTests}, clock))
			r.Query, r.URL, r.Body, r.Header["content-type"] = target.Query(), c.url, []byte(c.sent), c.kinds
			err = p.Authenticate(r, clock)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, c.reason, denial.ReasonOf(err))
		})
	}
}
