package event

import "bytes"

// WithoutMark returns a body without the byte order mark that some senders put before their JSON. Stored bytes keep it.
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }
