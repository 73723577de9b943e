package ledger

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// timeFormat is RFC 3339 with microseconds, PostgreSQL's precision.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// maxBuffered bounds the answers buffered until the next request, in bytes.
const maxBuffered = 64 << 10

// Writer appends to a ledger. It is safe for concurrent use. Written lines survive the death of the process, but not of the
// machine: nothing is synced.
type Writer struct {
	mu     sync.Mutex
	file   io.WriteCloser
	buffer []byte
	err    error // the first one; a ledger with a gap is worthless
}

// Open creates the file, or adds a run to an existing one. Only one process may write to it at a time.
func Open(path string, run Run) (*Writer, error) {
	// The ledger holds neither payloads nor secrets.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	w := &Writer{file: file}
	if err := w.begin(file, run); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("begin ledger %s: %w", path, err)
	}
	return w, nil
}

// begin writes the line of the run, after completing a truncated line.
func (w *Writer) begin(file *os.File, run Run) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := file.ReadAt(last, size-1); err != nil {
			return err
		}
	}
	if last[0] != '\n' {
		w.buffer = append(w.buffer, '\n')
	}
	run.Started = run.Started.UTC()
	line, err := json.Marshal(run)
	if err != nil {
		return err
	}
	w.buffer = append(append(w.buffer, line...), '\n')
	return w.flush()
}

// Sending records the events of a request that is about to be sent. When it returns nil they are in the file.
func (w *Writer) Sending(seq int64, at time.Time, kind Kind, events []Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		w.buffer = appendSending(w.buffer, seq, at, kind, &events[i])
	}
	return w.flush()
}

// Answered records the answer to a request; status is NoAnswer if there was none. It reaches the file with the next request, or
// with Flush: an answer that is lost with the process weakens what the ledger can prove, but never makes it wrong.
func (w *Writer) Answered(seq int64, status int, took time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer = appendAnswered(w.buffer, seq, status, took)
	if len(w.buffer) < maxBuffered {
		return w.err
	}
	return w.flush()
}

// Flush writes the buffered answers.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

// Close ends the ledger.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.flush()
	if closing := w.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close ledger: %w", closing)
	}
	return err
}

func (w *Writer) flush() error {
	if w.err == nil && len(w.buffer) > 0 {
		if _, err := w.file.Write(w.buffer); err != nil {
			w.err = fmt.Errorf("write ledger: %w", err)
		}
		w.buffer = w.buffer[:0]
	}
	return w.err
}

// appendSending writes JSON by hand, because it is on the path of every request of a load generator.
func appendSending(b []byte, seq int64, at time.Time, kind Kind, e *Event) []byte {
	b = strconv.AppendInt(append(b, `{"seq":`...), seq, 10)
	b = at.UTC().AppendFormat(append(b, `,"at":"`...), timeFormat)
	b = appendText(append(b, `","kind":`...), string(kind))
	b = appendText(append(b, `,"provider":`...), e.Provider)
	b = appendText(append(b, `,"key":`...), e.Key)
	b = hex.AppendEncode(append(b, `,"sha256":"`...), e.SHA256[:])
	return append(b, "\"}\n"...)
}

func appendAnswered(b []byte, seq int64, status int, took time.Duration) []byte {
	b = strconv.AppendInt(append(b, `{"seq":`...), seq, 10)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(status), 10)
	b = strconv.AppendInt(append(b, `,"ns":`...), int64(took), 10)
	return append(b, "}\n"...)
}

// appendText quotes s. Canonical keys and provider names need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // text cannot fail
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
