package receiving

import (
	"slices"
	"strings"

	"holdfast/providers/definition"
)

// compressing are the values of Content-Encoding that change the bytes: those that IANA lists, and common others. Any other
// value, such as the charset that some senders put there, leaves the body as it is.
var compressing = []string{
	"aes128gcm", "base64", "br", "bzip2", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "lz4", "lzma", "pack200-gzip",
	"snappy", "x-bzip2", "x-compress", "x-gzip", "x-snappy", "xz", "zstd",
}

// Packed reports whether a request with these Content-Encoding headers has a gzip body. It isn't ok if the definition doesn't
// accept the coding.
func (g *Gate) Packed(headers []string) (packed, ok bool) {
	var codings []string
	for coding := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		coding = strings.ToLower(strings.TrimSpace(coding))
		if slices.Contains(compressing, coding) {
			codings = append(codings, strings.TrimPrefix(coding, "x-"))
		}
	}
	if len(codings) == 0 {
		return false, true
	}
	return true, g.written.Gzip != "" && slices.Equal(codings, []string{"gzip"})
}

// SignsPlain reports whether signatures cover a body before its compression.
func (g *Gate) SignsPlain() bool { return g.written.Gzip == definition.GzipPlain }
