package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/url"
	"strings"
)

const unsupported = "415 encoding_not_supported"

// contentThreats are B19 and B61 to B95: encodings, JSON, numbers and text, nearly all of them signed.
func contentThreats() []threat {
	form := "payload=" + url.QueryEscape(`{"action":"opened","pull_request":{"id":1},"n":"`+marker+`"}`)
	rows := []threat{
		{id: "B19", what: "no body", bodies: []string{""}, want: "400 invalid_event"},
		{id: "B19", what: "no body and no length", request: "POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\n\r\n", want: refused401},
		{
			id: "B61", what: "a form", want: "202", stored: "event", holds: "type = 'pull_request.opened'",
			request: request("github", form, "Content-Type: application/x-www-form-urlencoded\r\nX-Github-Event: pull_request\r\n"+
				"X-Github-Delivery: "+uniqueID("b61")+"\r\nX-Hub-Signature-256: sha256="+hexMAC(secret, form)+"\r\n"),
		},
		{id: "B62", what: "multipart, not signed", want: refused401, request: request("hmac", multipart(1), multipartHead)},
		{
			id: "B62", what: "multipart, signed", bodies: []string{multipart(1)}, head: multipartHead, want: "202", stored: "dead malformed_json",
			why: "an authentic event is never refused for what is in it; nothing is read as multipart",
		},
		{id: "B62", what: "multipart without a boundary", bodies: []string{multipart(2)}, head: "Content-Type: multipart/form-data\r\n", want: "202", stored: "dead malformed_json"},
		{id: "B62", what: "multipart, 3,000 parts", bodies: []string{multipart(3000)}, head: multipartHead, want: "202", stored: "dead malformed_json"},
		{id: "B64", what: "gzip", bodies: []string{zipped(`{"id":"$ID"}`, 1)}, head: "Content-Encoding: gzip\r\n", want: unsupported},
		{id: "B65", what: "gzip, 100 MB of zeros", bodies: []string{zipped(strings.Repeat("\x00", 1<<20), 100)}, head: "Content-Encoding: gzip\r\n", want: unsupported},
		{id: "B67", what: "a list of encodings without end", bodies: []string{"{}"}, head: "Content-Encoding: " + strings.Repeat("identity, ", 300) + "gzip\r\n", want: unsupported},
		{id: "B67", what: "identity", bodies: []string{`{"id":"$ID"}`}, head: "Content-Encoding: identity\r\n", want: "202", stored: "event"},
		{id: "B67", what: "identity, and gzip in a line of its own", bodies: []string{`{"id":"$ID"}`}, head: "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", want: unsupported},
		{id: "B68", what: "a byte order mark", bodies: []string{"\xef\xbb\xbf" + `{"id":"$ID"}`}, want: "202", stored: "event"},
		{id: "B73", what: "20,000 keys", bodies: []string{keys(20_000)}, want: "202", stored: "event"},
		{id: "B73", what: "130,000 keys", request: signed("large", keys(130_000), ""), want: "202", stored: "event"},
		{id: "B73", what: "200,000 keys", request: signed("large", keys(200_000), ""), want: "413 body_too_large, closed", why: "they are more than any definition may take"},
		{id: "B73", what: "a key of 200 KB", bodies: []string{`{"id":"$ID","` + strings.Repeat("k", 200_000) + `":1}`}, want: "202", stored: "event"},
		{id: "B73", what: "a list of 100,000", bodies: []string{`{"id":"$ID","all":[` + strings.Repeat("0,", 99_999) + `0]}`}, want: "202", stored: "event"},
		{id: "B74", what: "two ids", bodies: []string{`{"id":"1","id":"$ID"}`}, want: "202", stored: "dead duplicate_key"},
		{id: "B74", what: "two ids, one of them escaped", bodies: []string{`{"id":"1","\u0069d":"$ID"}`}, want: "202", stored: "dead duplicate_key"},
		{id: "B74", what: "two of another key", bodies: []string{`{"id":"$ID","a":1,"a":2}`}, want: "202", stored: "event", holds: "payload ->> 'a' = '2'"},
		{id: "B76", what: "keys of a prototype", bodies: []string{`{"id":"$ID","__proto__":{"x":1},"constructor":1,"":2}`}, want: "202", stored: "event"},
		{id: "B76", what: "200 KB of spaces", bodies: []string{`{"id":"$ID"` + strings.Repeat(" ", 200_000) + `}`}, want: "202", stored: "event"},
		{id: "B77", what: "a text of 250 KB", bodies: []string{`{"id":"$ID","x":"` + strings.Repeat("x", 250_000) + `"}`}, want: "202", stored: "event"},
		{id: "B79", what: "NUL in a value", bodies: []string{`{"id":"$ID","a":"x\u0000y"}`}, want: "202", stored: "event", holds: "payload_note = 'replaced_nul'"},
		{id: "B79", what: "NUL in a key", bodies: []string{`{"id":"$ID","x\u0000y":1}`}, want: "202", stored: "event", holds: "payload_note = 'replaced_nul'"},
		{id: "B79", what: "NUL in the type", bodies: []string{`{"id":"$ID","type":"order.\u0000paid","data":{"id":"1"}}`}, want: "202", stored: "event", holds: "type !~ '[[:cntrl:]]'"},
		{id: "B79", what: "NUL in the id of an entity", bodies: []string{`{"id":"$ID","type":"order.paid","data":{"id":"a\u0000b"}}`}, want: "202", stored: "dead bad_entity_id"},
		{id: "B79", what: "half a surrogate pair", bodies: []string{`{"id":"$ID","a":"\ud800"}`}, want: "202", stored: "event", holds: "payload_note = 'replaced_surrogate'"},
		{id: "B80", what: "a raw NUL in a text", bodies: []string{`{"id":"$ID","a":"x` + "\x00" + `"}`}, want: "202", stored: "dead malformed_json"},
		{id: "B80", what: "a raw NUL behind it", bodies: []string{`{"id":"$ID"}` + "\x00"}, want: "202", stored: "dead malformed_json"},
		{id: "B80", what: "no UTF-8", bodies: []string{`{"id":"$ID","a":"` + "\xff" + `"}`}, want: "202", stored: "dead invalid_utf8"},
		{id: "B80", what: "an overlong slash", bodies: []string{`{"id":"$ID","a":"` + "\xc0\xaf" + `"}`}, want: "202", stored: "dead invalid_utf8"},
		{id: "B80", what: "a surrogate in UTF-8", bodies: []string{`{"id":"$ID","a":"` + "\xed\xa0\x80" + `"}`}, want: "202", stored: "dead invalid_utf8"},
		{id: "B89", what: "an unknown type", bodies: []string{`{"id":"$ID","type":"nobody.knows"}`}, want: "202", stored: "event"},
		{id: "B89", what: "a type of 10 KB", bodies: []string{`{"id":"$ID","type":"` + strings.Repeat("t", 10<<10) + `"}`}, want: "202", stored: "event", holds: "length(type) <= 255"},
		{id: "B89", what: "a type with control characters", bodies: []string{`{"id":"$ID","type":"a\r\n\u001b[2J{x=\"1\"} b"}`}, want: "202", stored: "event", holds: "type !~ '[[:cntrl:]]'"},
		{id: "B89", what: "a type that is an object", bodies: []string{`{"id":"$ID","type":{"a":1}}`}, want: "202", stored: "event", holds: "type = 'unknown'"},
		{id: "B92", what: "a delete of what is not there", bodies: []string{`{"id":"$ID","type":"order.deleted","data":{"id":"$ID"}}`}, want: "202", stored: "event"},
		{
			id: "B95", what: "a trace that is none", bodies: []string{`{"id":"$ID"}`}, want: "202", stored: "event",
			head: "Traceparent: 00-" + strings.Repeat("0", 32) + "-zz-99\r\nTracestate: =,=;\r\n",
		},
		{
			id: "B95", what: "much baggage", bodies: []string{`{"id":"$ID"}`}, want: "202", stored: "event",
			head: strings.Repeat("Baggage: "+strings.Repeat("k=v,", 500)+"\r\n", 6),
		},
	}
	return append(append(rows, jsonThreats()...), textThreats()...)
}

// jsonThreats are B70, B71 and B82 to B88, with each document in its own row.
func jsonThreats() (rows []threat) {
	for _, document := range []string{
		`{`, `{"id":"$ID"`, `{"id":"$ID",}`, `{'id':'$ID'}`, `{"id":"$ID"}garbage`, `{"id":"$ID"}{"id":"$ID"}`, `{"id":"$ID"/* */}`, `{"id":"$ID","a":NaN}`,
		`{"id":"$ID","a":Infinity}`, `{"id":"$ID","a":-Infinity}`, `{"id":"$ID","a":+1}`, `{"id":"$ID","a":01}`, `{"id":"$ID","a":.5}`, `{"id":"$ID","a":1.}`,
		`{"id":"$ID","a":0x10}`, `{"id":"$ID","a":"` + "\n" + `"}`, `{"id":"$ID","a":"\x"}`, `{"id":"$ID","a":"\u12"}`, `{id:"$ID"}`, `{"id":"$ID" "a":1}`,
	} {
		rows = append(rows, threat{id: "B70", what: document, bodies: []string{document}, want: "202", stored: "dead malformed_json"})
	}
	for _, document := range []string{`null`, `true`, `5`, `"x"`, `[]`, `[{"id":"1"},{"id":"2"}]`} {
		rows = append(rows, threat{id: "B71", what: document, bodies: []string{document}, want: "400 invalid_event"})
	}
	for depth, stored := range map[int]string{199: "event", 201: "dead too_deep", 100_000: "dead too_deep"} {
		rows = append(rows, threat{
			id: "B73", what: fmt.Sprintf("%d levels", depth), want: "202", stored: stored,
			bodies: []string{`{"id":"$ID","a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`},
		})
	}
	for number, holds := range map[string]string{
		"9007199254740993": "payload #>> '{data,n}' = '9007199254740993'", "12345678901234567890.10": "payload #>> '{data,n}' = '12345678901234567890.10'",
		"0.123456789012345678901234567890": "payload #>> '{data,n}' = '0.123456789012345678901234567890'", "-0": "", "1E5": "",
		"1e308": "", "1e400": "payload_note = 'quoted_number'", "1e131071": "payload_note = 'quoted_number'", "1e131072": "payload_note = 'quoted_number'",
		"1e1000000000": "payload_note = 'quoted_number'", "-1e-1000000000": "payload_note = 'quoted_number'",
		strings.Repeat("9", 100_000): "payload_note = 'quoted_number'",
	} {
		rows = append(rows, threat{
			id: "B83", what: "the number " + number[:min(len(number), 40)], want: "202", stored: "event", holds: holds,
			bodies: []string{`{"id":"$ID","type":"order.paid","data":{"id":"$ID","n":` + number + `}}`},
		})
	}
	for _, id := range []string{"12345678901234567890", "1e1000000000", "1e-1000000000", "-1", "0.1"} {
		rows = append(rows, threat{id: "B85", what: "the id " + id, want: "202", stored: "event", bodies: []string{`{"id":` + id + `}`}})
	}
	for _, version := range []string{"9223372036854775807", "9223372036854775808", "-1", "1.5", `"7"`, "1e400", "[]"} {
		body := `{"id":"` + uniqueID("b88") + `","type":"thing.changed","version":` + version + `,"data":{"id":"frozen"}}`
		rows = append(rows, threat{id: "B88", what: "the version " + version, want: "202", stored: "dead bad_version", request: signed("versioned", body, "")})
	}
	return rows
}

// textThreats are B94: text that a reader of logs, tables and pages might execute.
func textThreats() (rows []threat) {
	for _, text := range []string{
		`<img src=x onerror=alert(1)>`, `<\/script><script>alert(1)<\/script>`, `\u001b[2J\u001b]0;x\u0007`, `\r\n{\"msg\":\"forged\"}\r\n`, `=cmd|' /C calc'!A0`,
		`${jndi:ldap://127.0.0.1/a}`, `{{7*7}}`, `%s%s%n`, `'; DROP TABLE events; --`, `\u202e\u200b\ufeff`,
	} {
		rows = append(rows, threat{
			id: "B94", what: text, want: "202", stored: "event",
			bodies: []string{`{"id":"$ID","type":"order.` + text + `","data":{"id":"$ID","name":"` + marker + text + `"}}`},
			head:   "User-Agent: " + marker + "\r\nX-Request-Id: \"" + marker + "\"\r\nX-Correlation-Id: <b>" + marker + " </b>\r\n",
		})
	}
	return rows
}

const multipartHead = "Content-Type: multipart/form-data; boundary=cut\r\n"

func multipart(parts int) string {
	part := "--cut\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../../x\"\r\n\r\nx\r\n"
	return strings.Repeat(part, parts) + "--cut--\r\n"
}

// zipped returns the repeated text, compressed.
func zipped(text string, times int) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	for range times {
		_, _ = z.Write([]byte(text))
	}
	_ = z.Close()
	return b.String()
}

// keys returns an object with n keys.
func keys(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%q`, uniqueID("keys"))
	for k := range n {
		fmt.Fprintf(&b, `,"%x":0`, k)
	}
	return b.String() + "}"
}
