package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// Templates put values into a form without encoding them. A raw ; separates nothing, and a raw % is itself.
func TestFormsOfTemplates(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "calcom", secretOfTests)
	for body, title := range map[string]string{
		"triggerEvent=BOOKING_CREATED&uid=f1&title=Intro; first talk&email=ada@example.com": "Intro; first talk",
		"triggerEvent=BOOKING_CREATED&uid=f2&title=50% off for members":                     "50% off for members",
		"triggerEvent=BOOKING_CREATED&uid=f3&title=Caf%C3%A9%2":                             "Café%2",
	} {
		r := admit(t, p, &auth.Request{Body: []byte(body), Header: map[string][]string{
			"content-type": {"application/x-www-form-urlencoded"},
		}})
		items, err := p.Split(r)
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, "BOOKING_CREATED", items[0].Type)
		require.Equal(t, body, string(items[0].Body))
		v, err := decodersOf(p).Decode("application/x-www-form-urlencoded", items[0].Body)
		require.NoError(t, err)
		require.Equal(t, title, v.(map[string]any)["title"])
		_, err = p.Parse(event.Receipt{
			Provider: p.Name(), Key: items[0].Key, KeyFrom: items[0].KeyFrom, Headers: items[0].Headers, ReceivedAt: clock,
		}, items[0].Body)
		require.NoError(t, err)
	}
}

// A signature over the fields of a form has one meaning: what can be read in two ways isn't authentic.
func TestSignedFieldsAreReadStrictly(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "twilio", secretOfTests)
	request := func(body string) *auth.Request {
		return &auth.Request{
			Method: "POST", Path: "/webhooks/twilio", URL: "https://hooks.example.com/webhooks/twilio", Body: []byte(body),
			Header: map[string][]string{"content-type": {"application/x-www-form-urlencoded"}},
		}
	}
	strict := request("MessageSid=SM1&Body=a%3Bb%25")
	require.NoError(t, p.Sign(strict, secretOfTests, clock))
	require.NoError(t, p.Authenticate(strict, clock))
	for _, body := range []string{"MessageSid=SM1&Body=a;b%25", "MessageSid=SM1&Body=a%3Bb%"} {
		raw := request(body)
		raw.Header["x-twilio-signature"] = strict.Header["x-twilio-signature"]
		require.Error(t, p.Authenticate(raw, clock), body)
	}
}
