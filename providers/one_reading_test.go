package providers

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A body has one reading: the signature of one request doesn't let in a body that is signed when it is read as a form and says
// something else as JSON, or the reverse. No signature of these senders covers the content type.
func TestABodyHasOneReading(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(signed url.Values) (contentType, body string){
		"sns": func(s url.Values) (string, string) {
			return "application/x-www-form-urlencoded",
				`{"!":"&` + s.Encode() + `&","Type":"Notification","MessageId":"other","Message":"other"}`
		},
		"braintree": func(s url.Values) (string, string) {
			return "application/json", `{"bt_payload":"` + s.Get("bt_payload") + `","bt_signature":"` + s.Get("bt_signature") +
				`","!":"&bt_payload=b3RoZXI&"}`
		},
		"opennode": func(s url.Values) (string, string) {
			part := "--b\r\nContent-Disposition: form-data; name="
			return "application/x-www-form-urlencoded", part + "id\r\n\r\n" + s.Get("id") + "\r\n" +
				part + "hashed_order\r\n\r\n" + s.Get("hashed_order") + "\r\n--b--\r\n&id=other&status=paid"
		},
	} {
		p := providerOf(t, name, secretOfTests)
		r, err := p.Sample(p.SampleTypes()[0], "one", clock)
		require.NoError(t, err)
		require.NoError(t, p.SignWithSecrets(r, clock))
		require.NoError(t, p.Authenticate(r, clock), name)
		signed, _ := url.ParseQuery(string(r.Body))
		if name == "sns" {
			signed = url.Values{}
			var fields map[string]string
			require.NoError(t, json.Unmarshal(r.Body, &fields))
			for field, text := range fields {
				signed.Set(field, text)
			}
		}
		contentType, body := other(signed)
		r.SetHeader("content-type", contentType)
		r.Body = []byte(body)
		assert.Error(t, p.Authenticate(r, clock), name)
	}
}
