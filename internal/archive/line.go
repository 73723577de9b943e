package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"holdfast/event/operation"
	"holdfast/event/retention"
)

// line is a line in the format of `holdfast import`: an event or a dead letter, and its body.
type line struct {
	Record        operation.ImportRecord `json:"record"`
	Stored        any                    `json:"stored"`
	Body          *string                `json:"body,omitempty"`
	BodyBase64    []byte                 `json:"body_base64,omitempty"`
	UnreadReceipt []byte                 `json:"unread_receipt,omitempty"`
	Fetched       *retention.Fetched     `json:"fetched,omitempty"`
}

func lineOf(o retention.Outdated) line {
	l := line{Record: operation.ImportDeadLetter, Stored: o.DeadLetter, UnreadReceipt: o.UnreadReceipt, Fetched: o.Fetched}
	if o.Event != nil {
		l.Record, l.Stored = operation.ImportEvent, o.Event
	}
	if text := string(o.Body); isText(o.Body) {
		l.Body = &text
	} else {
		l.BodyBase64 = o.Body
	}
	return l
}

// longBody is the size from which text must not be longer than base64: an import limits the length of a line.
const longBody = 1 << 20

func isText(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	if len(body) < longBody {
		return true
	}
	quoted, err := json.Marshal(string(body))
	return err == nil && len(quoted) <= base64.StdEncoding.EncodedLen(len(body))
}

// encode returns compressed lines.
func encode(all []retention.Outdated) ([]byte, error) {
	return compressed(func(w io.Writer) error {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		for _, o := range all {
			if err := lines.Encode(lineOf(o)); err != nil {
				return fmt.Errorf("encode event %s: %w", o.Receipt().ID, err)
			}
		}
		return nil
	})
}

// compressed returns the compressed output of write. It decompresses and compares the result, because the original is about to be
// deleted.
func compressed(write func(io.Writer) error) ([]byte, error) {
	var file bytes.Buffer
	w, err := zstd.NewWriter(&file, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if err := errors.Join(write(io.MultiWriter(w, sum)), w.Close()); err != nil {
		return nil, err
	}
	plain, err := Decompress(bytes.NewReader(file.Bytes()))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	again := sha256.New()
	if _, err := io.Copy(again, plain); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), again.Sum(nil)) {
		return nil, errors.New("the compressed data doesn't match the original")
	}
	return file.Bytes(), nil
}

// removeEvents removes the lines of some events from a file, and returns the number of removed lines.
func removeEvents(file io.Reader, eventIDs []string) (rest []byte, removed int, err error) {
	plain, err := Decompress(file)
	if err != nil {
		return nil, 0, err
	}
	defer plain.Close()
	rest, err = compressed(func(w io.Writer) error {
		lines := bufio.NewReader(plain)
		for {
			text, err := lines.ReadBytes('\n')
			if len(text) > 0 {
				var of struct {
					Stored struct {
						Receipt struct {
							ID string `json:"id"`
						} `json:"receipt"`
					} `json:"stored"`
				}
				if err := json.Unmarshal(text, &of); err != nil {
					return errors.New("a line of the archive isn't JSON")
				}
				if slices.Contains(eventIDs, of.Stored.Receipt.ID) {
					removed++
				} else if _, err := w.Write(text); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	return rest, removed, err
}

// maxWindow is zstd's own limit: a frame can request that much memory.
const maxWindow = 128 << 20

// Decompress reads Zstandard or gzip, and anything else unchanged. Compressed files may be concatenated.
func Decompress(in io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(in)
	begin, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		plain, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return plain.IOReadCloser(), nil
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	default:
		return io.NopCloser(buffered), nil
	}
}
