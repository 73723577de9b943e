package e2e

import (
	"fmt"
	"strings"
)

// The expected answers of most rows in this file.
const (
	notHTTP    = "400 bad_request, closed"
	refused401 = "401 unauthenticated"
)

// post returns the head of a request with the caller's exact lines.
func post(lines ...string) string {
	return "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\n" + strings.Join(lines, "\r\n")
}

// framingThreats are B01 to B23: transport and framing.
func framingThreats() []threat {
	const smuggled = "POST /webhooks/hmac HTTP/1.1\r\nHost: smuggled\r\nContent-Length: 0\r\n\r\n"
	rows := []threat{
		{id: "B01", what: "two lengths, which differ", want: notHTTP, request: post("Content-Length: 1", "Content-Length: 2", "", "xx")},
		{id: "B01", what: "two lengths, the same", want: notHTTP, request: post("Content-Length: 1", "content-length: 1", "", "x")},
		{
			id: "B02", what: "a length and chunks", want: notHTTP,
			request: post("Content-Length: 3", "Transfer-Encoding: chunked", "", "0\r\n\r\n"+smuggled),
		},
		{
			id: "B02", what: "chunks and a length", want: notHTTP,
			request: post("Transfer-Encoding: chunked", "Content-Length: 60", "", "0\r\n\r\n"+smuggled),
		},
		{
			id: "B04", what: "two encodings", want: notHTTP,
			request: post("Transfer-Encoding: chunked", "Transfer-Encoding: identity", "", "0\r\n\r\n"+smuggled),
		},
		{id: "B04", what: "chunks of another name", want: notHTTP, request: post("Transfer-Encoding: xchunked", "", "0\r\n\r\n"+smuggled)},
		{id: "B04", what: "two encodings in one line", want: notHTTP, request: post("Transfer-Encoding: gzip, chunked", "", "0\r\n\r\n"+smuggled)},
		{id: "B04", what: "an encoding that is none", want: notHTTP, request: post("Transfer-Encoding: identity", "", smuggled)},
		{id: "B04", what: "an encoding behind a vertical tab", want: notHTTP, request: post("Transfer-Encoding: \vchunked", "", "0\r\n\r\n"+smuggled)},
		{
			id: "B05", what: "chunks in HTTP/1.0", want: notHTTP,
			request: "POST /webhooks/hmac HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		},
		{id: "B08", what: "a size of 60 bits", want: "408 request_timeout, closed", request: chunked("FFFFFFFFFFFFFFF\r\nx")},
		{id: "B08", what: "a size of 68 bits", want: notHTTP, request: chunked("FFFFFFFFFFFFFFFFF\r\nx")},
		{id: "B08", what: "a size below zero", want: notHTTP, request: chunked("-1\r\nx\r\n0\r\n\r\n")},
		{id: "B08", what: "a size with 0x", want: notHTTP, request: chunked("0x1\r\nx\r\n0\r\n\r\n")},
		{id: "B08", what: "no size", want: notHTTP, request: chunked("\r\nx\r\n0\r\n\r\n")},
		{id: "B08", what: "a bare line feed behind the size", want: notHTTP, request: chunked("1\nx\r\n0\r\n\r\n")},
		{id: "B08", what: "a chunk longer than its size", want: notHTTP, request: chunked("1\r\nxyz\r\n0\r\n\r\n")},
		{id: "B08", what: "a line feed in an extension", want: notHTTP, request: chunked("1;a=\nb\r\nx\r\n0\r\n\r\n")},
		{
			id: "B08", what: "an extension of a megabyte", want: refused401, request: chunked("1;" + strings.Repeat("x", 1<<20) + "\r\nx\r\n0\r\n\r\n"),
			why: "it is read and dropped, never kept, and has the body's time to come to its end",
		},
		{id: "B08", what: "a trailer with a length", want: notHTTP, request: chunked("1\r\nx\r\n0\r\nContent-Length: 5\r\n\r\n")},
		{id: "B10", what: "no host", want: notHTTP, request: "POST /webhooks/hmac HTTP/1.1\r\nContent-Length: 0\r\n\r\n"},
		{id: "B10", what: "two hosts", want: notHTTP, request: post("Host: y", "Content-Length: 0", "", "")},
		{
			id: "B10", what: "a host with a user", want: refused401,
			request: "POST /webhooks/hmac HTTP/1.1\r\nHost: a@b\r\nContent-Length: 0\r\n\r\n",
			why:     "nothing here depends on the name of the host",
		},
		{
			id: "B10", what: "the address of another host", want: refused401,
			request: "POST http://other.example/webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
			why:     "RFC 9112 asks servers to take this form, and nothing here depends on the name of the host",
		},
		{
			id: "B11", what: "a request within a body", want: "202", stored: "event",
			request: signed("hmac", `{"id":"`+uniqueID("b11")+`","x":"`+strings.ReplaceAll(smuggled, "\r\n", `\r\n`)+`"}`, ""),
		},
		{
			id: "B11", what: "a request behind a body", want: "202, " + refused401, stored: "event",
			request: signed("hmac", `{"id":"`+uniqueID("b11")+`"}`, "") + smuggled,
		},
		{id: "B11", what: "a header that ends in a bare line feed", want: notHTTP, request: post("X: y\nTransfer-Encoding: chunked", "Content-Length: 5", "", "0\r\n\r\n"+smuggled)},
		{id: "B11", what: "a space before the colon", want: notHTTP, request: post("Content-Length : 5", "", "0\r\n\r\n"+smuggled)},
		{id: "B11", what: "a line that goes on", want: notHTTP, request: post("Transfer-Encoding:", " chunked", "", "0\r\n\r\n"+smuggled)},
		{id: "B11", what: "NUL in a header", want: notHTTP, request: post("X: a\x00b", "Content-Length: 0", "", "")},
		{id: "B11", what: "a carriage return in a header", want: notHTTP, request: post("X: a\rTransfer-Encoding: chunked", "Content-Length: 0", "", "")},
		{id: "B94", what: "an escape in a header", want: notHTTP, request: post("X-Request-Id: "+marker+"\x1b[2J", "Content-Length: 0", "", "")},
		{id: "B16", what: "two hundred headers", want: "431 headers_too_large, closed", request: post(strings.Repeat("X-Header: "+strings.Repeat("x", 80)+"\r\n", 200), "")},
		{id: "B16", what: "a header of 20 KB", want: "431 headers_too_large, closed", request: post("X: "+strings.Repeat("x", 20<<10), "", "")},
		{id: "B16", what: "a cookie of 16 KB", want: "431 headers_too_large, closed", request: post("Cookie: a="+strings.Repeat("x", 16<<10), "", "")},
		{id: "B16", what: "headers of 12 KB", want: refused401, request: post("X: "+strings.Repeat("x", 12<<10), "Content-Length: 0", "", "")},
		{
			id: "B17", what: "a URL of 20 KB", want: "431 headers_too_large, closed", request: path("/webhooks/hmac?" + strings.Repeat("x", 20<<10)),
			why: "the line of the request and the headers have one limit together, and so one status",
		},
		{id: "B17", what: "5,000 parameters", want: refused401, request: path("/webhooks/hmac?" + strings.Repeat("a&", 5000))},
		{id: "B20", what: "a length over the limit, asked for first", want: "413 body_too_large, closed", request: post("Expect: 100-continue", "Content-Length: 300000", "", "")},
		{id: "B20", what: "a length within the limit, asked for first", want: "100, " + refused401, request: post("Expect: 100-continue", "Content-Length: 1", "", "x")},
		{id: "B20", what: "a declared length over the limit", want: "413 body_too_large, closed", request: post("Content-Length: 262145", "", "")},
		{id: "B20", what: "chunks over the limit", want: "413 body_too_large, closed", request: chunked(strings.Repeat("8000\r\n"+strings.Repeat("x", 0x8000)+"\r\n", 9) + "0\r\n\r\n")},
		{id: "B22", what: "the preface of HTTP/2", want: notHTTP, request: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{id: "B22", what: "a greeting of TLS", want: notHTTP, request: "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n"},
		{id: "B22", what: "no version", want: notHTTP, request: "GET /\r\n\r\n"},
		{id: "B22", what: "a version that is none", want: notHTTP, request: "POST /webhooks/hmac HTTP/1.7\r\nHost: x\r\nContent-Length: 0\r\n\r\n"},
		{id: "B22", what: "no HTTP at all", want: notHTTP, request: "\x00\x01\x02\x03\r\n\r\n"},
	}
	for _, length := range []string{"+5", "-1", "5,5", "0x10", "5 5", "", "1e3", "99999999999999999999", "9223372036854775808", "18446744073709551617"} {
		rows = append(rows, threat{id: "B07", what: "a length of " + length, want: notHTTP, request: post("Content-Length: "+length, "", "xxxxx")})
	}
	for _, p := range []string{
		"/webhooks/%00", "/webhooks/%zz", "/webhooks/..%2fhmac", "/webhooks//hmac", "/webhooks/%2e%2e/webhooks/hmac", "/x/../webhooks/hmac",
		"/%2561dmin", "/webhooks/%68mac", "/WEBHOOKS/hmac", "/webhooks/HMAC", `/webhooks\hmac`, "/webhooks/hmac;x=1", "/webhooks/", "/webhooks/nobody", "/admin", "/", "*",
	} {
		want := "404 not_found"
		if strings.HasPrefix(p, "/webhooks/") {
			want = "404 unknown_provider"
		}
		rows = append(rows, threat{id: "B17", what: "the path " + p, want: want, request: path(p)})
	}
	for _, p := range []string{"//webhooks/hmac", "/webhooks/hmac/"} {
		rows = append(rows, threat{
			id: "B17", what: "the path " + p, want: refused401, request: path(p),
			why: "slashes at the ends of a path are many a sender's typing mistake, and mean nothing",
		})
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW", "post"} {
		rows = append(rows, threat{
			id: "B22", what: "the method " + method, want: "405 method_not_allowed",
			request: method + " /webhooks/hmac HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		})
	}
	return rows
}

func chunked(body string) string { return post("Transfer-Encoding: chunked", "", body) }

func path(p string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", p)
}
