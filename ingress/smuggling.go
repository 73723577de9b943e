package ingress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// errAmbiguous is answered with 400.
var errAmbiguous = errors.New("the end of the body can be read in two ways")

// couldSmuggle reports whether a proxy in front may see the end of the body elsewhere than we do, so that one side reads as a
// request what is body to the other: chunks together with a length, chunks in HTTP/1.0, which has none, encodings other than
// chunks, any version that isn't 1.0 or 1.1, and a header that continues on a second line (obs-fold, which RFC 9112 forbids): a
// proxy may read that line as a separate header. fasthttp accepts all of these, each in one way.
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

// dropTrailers removes the trailers of a chunked body, which fasthttp adds to the headers: a proxy in front may have checked,
// limited or rewritten only the head. It parses the head again, since a name can be in both.
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

// chunked is the length of a chunked body.
const chunked = -1
