package webhook

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/delivery"
)

// maxPacked bounds the compressed bytes that are read for the beginning of a response.
const maxPacked = 64 << 10

// readAnswer returns the beginning of a response, within responseTimeout: a redirect's target and the body, decompressed.
func readAnswer(r *http.Response, giveUp func()) []byte {
	timer := time.AfterFunc(responseTimeout, giveUp)
	defer timer.Stop()
	var answer []byte
	if to := r.Header.Get("Location"); to != "" && r.StatusCode >= 300 && r.StatusCode < 400 {
		answer = []byte("Location: " + to + "\n\n")
	}
	answer = append(answer, bodyOf(r)...)
	return answer[:min(len(answer), delivery.MaxAnswer)]
}

func bodyOf(r *http.Response) []byte {
	coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if coding == "" || coding == "identity" {
		return start(r.Body)
	}
	var raw bytes.Buffer
	packed := bufio.NewReader(io.TeeReader(io.LimitReader(r.Body, maxPacked), &raw))
	if plain := start(unpacked(coding, packed)); len(plain) > 0 {
		return plain
	}
	start(packed) // into raw
	kept := raw.Bytes()
	if kept = kept[:min(len(kept), delivery.MaxAnswer)]; len(kept) == 0 || utf8.Valid(kept) {
		return kept // empty, or compressed only by name
	}
	return []byte("(compressed with " + strings.ToValidUTF8(coding[:min(len(coding), 20)], "") + ", which can't be shown)")
}

// start reads up to what is kept of an answer.
func start(from io.Reader) []byte {
	text, _ := io.ReadAll(io.LimitReader(from, delivery.MaxAnswer)) // keep what was read before an error
	return text
}

// unpacked decompresses what requests never ask for and some endpoints send anyway. Its memory is bounded by the window of
// deflate, 32 KiB.
func unpacked(coding string, from *bufio.Reader) io.Reader {
	switch coding {
	case "gzip", "x-gzip":
		if r, err := gzip.NewReader(from); err == nil {
			return r
		}
	case "deflate": // with the header of zlib, as the standard demands, or without it
		if head, err := from.Peek(2); err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			if r, err := zlib.NewReader(from); err == nil {
				return r
			}
		}
		return flate.NewReader(from)
	}
	return strings.NewReader("")
}
