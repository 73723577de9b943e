package providers

import (
	"regexp"
	"testing"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// FuzzSignatureHeader: for any signature headers the result is an error or nil, and nil only for a signed body.
func FuzzSignatureHeader(f *testing.F) {
	c := catalogueOf(f, secretOfTests)
	f.Add("t=1777896000,v1=00,v1=", "msg_1", "1777896000", []byte("{}"))
	f.Add("v1,AAAA v1a,BBBB", "msg.1", "01", []byte("{}"))
	f.Add("sha256=00", "", "", []byte(""))
	f.Fuzz(func(t *testing.T, signature, id, timestamp string, body []byte) {
		for _, name := range c.Names() {
			p, _ := c.Lookup(name)
			r := &auth.Request{Method: "POST", Body: body, Header: map[string][]string{
				"authorization": {signature}, "webhook-id": {id}, "webhook-timestamp": {timestamp},
			}}
			headers, _, _ := p.Hidden()
			for _, h := range headers {
				r.Header[h] = []string{signature}
			}
			for _, h := range p.Coverage().Headers {
				r.Header[h] = []string{timestamp}
			}
			if p.Authenticate(r, clock) == nil {
				t.Fatalf("%s takes a signature that nobody made", name)
			}
		}
	})
}

// FuzzEvent: each part of any authentic request is kept, keyed and parsed or rejected; nothing panics, and the same bytes give
// the same key.
func FuzzEvent(f *testing.F) {
	c := catalogueOf(f, secretOfTests)
	for _, s := range []string{
		`{"id":"evt_1","type":"customer.created","created":1,"data":{"object":{"id":"c","object":"customer"}}}`,
		`{"events":[{"id":"EV1","resource_type":"payments","action":"paid","links":{"payment":"PM1"}}]}`,
		`{"event":"car_update","payload":"{\"id\"=>1}"}`, `payload=%7B%7D`, `{"id":1e1000000000}`, "\xff", "", "[",
	} {
		f.Add([]byte(s), "application/json")
		f.Add([]byte(s), decode.FormType)
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		for _, name := range c.Names() {
			p, _ := c.Lookup(name)
			r := &auth.Request{Method: "POST", Body: body, Header: map[string][]string{"content-type": {contentType}}}
			_, _ = p.Challenge(r, clock)
			items, err := p.Split(r)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := p.Split(r)
			for i, item := range items {
				if !isCanonical(name, item.Key) || item.Key != again[i].Key {
					t.Fatalf("%s: bad key %q", name, item.Key)
				}
				parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
				if err == nil && (parsed.Type == "" || len(parsed.Type) > event.MaxTypeLength || parsed.Policy.Attempts < 1) {
					t.Fatalf("%s: bad result %+v", name, parsed)
				}
				_, _ = p.Redact(receiptOfTest(p, item), item.Body)
			}
		}
	})
}

// isCanonical reports whether a key fits a workflow ID: it is its own canonical form, or a hash.
func isCanonical(provider, key string) bool {
	return event.CanonicalKey(provider, key) == key || regexp.MustCompile(`^h:[A-Z2-7]{52}$`).MatchString(key)
}
