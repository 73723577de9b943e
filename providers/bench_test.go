package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
)

// stripeBody is an event of about size bytes, most of it in many small fields.
func stripeBody(size int) []byte {
	var lines strings.Builder
	for i := 0; lines.Len() < size-230; i++ {
		fmt.Fprintf(&lines, `,{"id":"il_%06d","amount":%d,"currency":"eur","description":"caf\u00e9 %d","proration":false}`, i, i*100, i)
	}
	list := strings.TrimPrefix(lines.String(), ",")
	return fmt.Appendf(nil, `{"id":"evt_1HF","object":"event","created":1777888800,"type":"invoice.paid","data":{"object":`+
		`{"id":"in_1","object":"invoice","customer":"cus_1","lines":{"data":[%s]}}}}`, list)
}

// What the ingress and the parse step do for one event: authenticate, key, and map.
func BenchmarkEvent(b *testing.B) {
	built, err := Load("")
	require.NoError(b, err)
	p, _ := built.WithSecrets(func(string) []string { return []string{secretOfTests} }).Lookup("stripe") // one, as in production
	for _, size := range []int{600, 200 << 10} {
		r := &auth.Request{Method: "POST", Body: stripeBody(size)}
		require.NoError(b, p.Sign(r, secretOfTests, clock))
		b.Run(fmt.Sprintf("authenticate/%d", len(r.Body)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				require.NoError(b, p.Authenticate(r, clock))
			}
		})
		b.Run(fmt.Sprintf("split/%d", len(r.Body)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				_, err := p.Split(r)
				require.NoError(b, err)
			}
		})
		items, err := p.Split(r)
		require.NoError(b, err)
		receipt := receiptOfTest(p, items[0])
		b.Run(fmt.Sprintf("parse/%d", len(r.Body)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				_, err := p.Parse(receipt, r.Body)
				require.NoError(b, err)
			}
		})
	}
}
