package ingress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// errAmbiguous is answered as a bad request.
var errAmbiguous = errors.New("the end of the body can be read in two ways")

// couldSmuggle says that a proxy in front may see the end of the body elsewhere than we do, so that what is body to one of us is
// a request to the other: chunks together with a length, chunks in HTTP/1.0, which has none, encodings other than chunks, any
// version that is not 1.0 or 1.1, and a header that continues on a second line (obs-fold, which RFC 9112 forbids): a proxy may
// read that line as a header of its own. fasthttp takes all of these, each in one of its ways.
func couldSmuggle(h *fasthttp.RequestHeader) bool {
	if version := string(h.Protocol()); version != "HTTP/1.1" && version != "HTTP/1.0" {
		return true
	}
	var length, encoding bool
	for line := range bytes.Lines(h.RawHeaders()) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case line[0] == ' ' || line[0] == '\t':
			return true
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

// dropTrailers takes out of the headers what stood behind a body in chunks, which fasthttp adds to them: a proxy in front may
// have checked, limited or rewritten the head only. It reads the head once more, since a name can be in both.
func dropTrailers(h *fasthttp.RequestHeader) error {
	if h.ContentLength() != chunked {
		return nil
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s %s\r\n%s\r\n", h.Method(), h.RequestURI(), h.Protocol(), h.RawHeaders())
	var again fasthttp.RequestHeader
	if err := again.Read(bufio.NewReaderSize(&head, head.Len())); err != nil {
		return errAmbiguous
	}
	again.CopyTo(h)
	return nil
}

// chunked is the length of a body in chunks.
const chunked = -1
