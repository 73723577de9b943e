package decode

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
)

// The bounds on what a compressed body may become, next to the limit of the body itself: maxRatio times its own size, but for
// small ones fewUnpacked bytes in any case.
const (
	maxRatio    = 100
	fewUnpacked = 64 << 10
)

// The reasons why a compressed body can't be decompressed.
var (
	ErrUnpackedTooLarge = errors.New("the decompressed body is too large")
	ErrNotGzip          = errors.New("the body is not complete, valid gzip")
	ErrNoMemory         = errors.New("there is no memory for the decompressed body")
)

// Gunzip decompresses a body. The result has at most limit bytes, and at most 100 times the compressed ones. reserve is asked
// before each allocation. A body that doesn't begin like gzip is returned unchanged: a proxy may decompress a body and leave the
// header. The context bounds the time.
func Gunzip(ctx context.Context, packed []byte, limit int, reserve func(bytes int) bool) ([]byte, error) {
	if !bytes.HasPrefix(packed, []byte("\x1f\x8b")) {
		return packed, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, ErrNotGzip
	}
	limit = min(limit, max(fewUnpacked, maxRatio*len(packed)))
	var plain []byte
	for {
		if len(plain) == cap(plain) {
			more := min(max(cap(plain), fewUnpacked), limit+1-len(plain))
			if !reserve(more) {
				return nil, ErrNoMemory
			}
			plain = append(make([]byte, 0, cap(plain)+more), plain...)
		}
		n, err := r.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		switch {
		case len(plain) > limit:
			return nil, ErrUnpackedTooLarge
		case errors.Is(err, io.EOF):
			return plain, nil
		case err != nil:
			return nil, ErrNotGzip
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}
