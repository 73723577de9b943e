package payloadcodec_test

import (
	"fmt"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
)

func BenchmarkEncode(b *testing.B) { benchmark(b, true) }

func BenchmarkDecode(b *testing.B) { benchmark(b, false) }

func benchmark(b *testing.B, encoding bool) {
	c := codec(newKey(b, "k"))
	for _, size := range []int{256, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			plain := []*commonpb.Payload{payload(strings.Repeat("x", size))}
			sealed := []*commonpb.Payload{encode(b, c, plain[0])}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if encoding {
					_, err = c.Encode(plain)
				} else {
					_, err = c.Decode(sealed)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
