package ingress

import (
	"bytes"
	"errors"

	"github.com/valyala/fasthttp"
)

// errMisframed is answered as a bad request.
var errMisframed = errors.New("the end of the body can be read in two ways")

// isMisframed says that a proxy in front may see the end of the body elsewhere than we do, so that what is body to one of us is a
// request to the other: chunks together with a length, chunks in HTTP/1.0, which has none, encodings other than chunks, and any
// version that is not 1.0 or 1.1. fasthttp takes all of these, each in one of its ways.
func isMisframed(h *fasthttp.RequestHeader) bool {
	if version := string(h.Protocol()); version != "HTTP/1.1" && version != "HTTP/1.0" {
		return true
	}
	var length, encoding bool
	for line := range bytes.Lines(h.RawHeaders()) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte(fasthttp.HeaderContentLength)):
			length = true
		case bytes.EqualFold(name, []byte(fasthttp.HeaderTransferEncoding)):
			encoding = true
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				return true
			}
		}
	}
	return encoding && (length || !h.IsHTTP11())
}
