package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/event"
)

// Format is the file format of records.
type Format string

const (
	// FormatJSON is newline-delimited JSON: one object per line.
	FormatJSON Format = "ndjson"
	// FormatCSV has a heading with the names of the fields, as in RFC 4180. An empty cell is a missing field.
	FormatCSV Format = "csv"
)

// Formats returns all formats.
func Formats() []Format { return []Format{FormatJSON, FormatCSV} }

// FormatOf returns the format of a file by its name; the default is JSON.
func FormatOf(name string) Format {
	if strings.HasSuffix(strings.ToLower(name), ".csv") {
		return FormatCSV
	}
	return FormatJSON
}

// MaxLine bounds a line, in bytes: it fits the largest body of an event in base64, and its other fields.
const MaxLine = event.MaxBody/3*4 + 4<<20

// Problem describes what is wrong with a line. It repeats no value.
type Problem struct {
	Line int64 `json:"line"`
	// Field is "" if the mistake is about the line as a whole.
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// String returns "line 12: received_at: is missing".
func (m Problem) String() string {
	if m.Field == "" {
		return fmt.Sprintf("line %d: %s", m.Line, m.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", m.Line, m.Field, m.Reason)
}

// FileError says why a file can't be read any further. It repeats no value.
type FileError struct{ err error }

func (e *FileError) Error() string { return e.err.Error() }

func (e *FileError) Unwrap() error { return e.err }

func unreadable(doing string, err error) error { return &FileError{fmt.Errorf("%s: %w", doing, err)} }

// errTooLong is returned for a line that isn't a record.
var errTooLong = errors.New("malformed line")

// byteOrderMark begins the UTF-8 files of spreadsheets.
const byteOrderMark = "\ufeff"

// eachRecord reads the records of a file one by one, of which skipped lines are missing in front. A malformed line is a record
// with a mistake. The error is a *FileError, or that of in or of each.
func eachRecord(in io.Reader, format Format, skipped int64, each func(*record) error) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	if mark, err := lines.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = lines.Discard(len(byteOrderMark)) // just peeked
	}
	if format == FormatCSV {
		return eachRow(lines, skipped, each)
	}
	for n := skipped + 1; ; n++ {
		text, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errTooLong) {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(text)) > 0 || errors.Is(err, errTooLong) {
			if err := each(recordOf(n, text, err)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// readLine returns the next line. If it is too long, it reads the rest and returns errTooLong.
func readLine(lines *bufio.Reader) (text []byte, err error) {
	for isTooLong := false; ; {
		part, err := lines.ReadSlice('\n')
		if isTooLong = isTooLong || len(text)+len(part) > MaxLine; !isTooLong {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case isTooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		default:
			return text, err
		}
	}
}

func recordOf(n int64, text []byte, err error) *record {
	r := newRecord(n)
	if errors.Is(err, errTooLong) {
		r.wrong("", "is longer than %d bytes", MaxLine)
		return r
	}
	switch {
	case !utf8.Valid(text): // a decoder would replace the invalid bytes
		r.wrong("", "is no UTF-8: give a body in body_base64")
	case json.Unmarshal(text, &r.values) != nil || r.values == nil:
		r.wrong("", "is no JSON object")
	default:
		r.checkRepeats(text)
	}
	return r
}

// checkRepeats refuses an object with a repeated field, because it is ambiguous.
func (r *record) checkRepeats(text []byte) {
	fields := json.NewDecoder(bytes.NewReader(text))
	_, _ = fields.Token() // the brace of an object that was read before
	seen := map[string]bool{}
	for fields.More() {
		token, err := fields.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if err != nil || fields.Decode(&value) != nil {
			return // it was read before
		}
		if seen[name] {
			r.wrong(shown(name), "is repeated")
		}
		seen[name] = true
	}
}

// eachRow reads CSV. A record has the number of its first line.
func eachRow(in io.Reader, skipped int64, each func(*record) error) error {
	bounded := &rowReader{in: in, left: MaxLine}
	rows := csv.NewReader(bounded)
	rows.ReuseRecord = true
	heading, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return unreadable("read the heading", err)
	}
	names := slices.Clone(heading)
	if err := checkHeading(names); err != nil {
		return unreadable("read the heading", err)
	}
	for {
		bounded.left = MaxLine
		row, err := rows.Read()
		var malformed *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &malformed): // there may be a partial row
			return unreadable("read CSV", err)
		case malformed != nil:
			malformed.StartLine, malformed.Line = malformed.StartLine+int(skipped), malformed.Line+int(skipped)
		}
		if err := each(recordOfRow(names, row, rows, skipped, err)); err != nil {
			return err
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return unreadable("read CSV", err) // the start of the next row is unknown
		}
	}
}

func checkHeading(names []string) error {
	for i, name := range names {
		if !isName.MatchString(name) {
			return fmt.Errorf("column %d has no name of a field: the first line names the columns", i+1)
		}
		if first := slices.Index(names, name); first < i {
			return fmt.Errorf("columns %d and %d are both %q: leave one out", first+1, i+1, name)
		}
	}
	return nil
}

// rowReader bounds how much is read for one row.
type rowReader struct {
	in   io.Reader
	left int
}

var errRow = fmt.Errorf("a row is longer than %d bytes: a quote may be open", MaxLine)

func (r *rowReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRow
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

func recordOfRow(names, row []string, rows *csv.Reader, skipped int64, err error) *record {
	var malformed *csv.ParseError
	if errors.As(err, &malformed) {
		r := newRecord(int64(malformed.StartLine))
		r.wrong("", "%s", malformed.Err)
		return r
	}
	line, _ := rows.FieldPos(0)
	r := newRecord(int64(line) + skipped)
	r.isCSV = true
	for i, name := range names {
		if !utf8.ValidString(row[i]) {
			r.wrong(shown(name), "is no UTF-8: give a body in body_base64")
			continue
		}
		if row[i] != "" {
			r.values[name] = quoted(row[i])
		}
	}
	return r
}

// quoted returns a text as JSON.
func quoted(s string) json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil { // the text is valid UTF-8
		return nil
	}
	return text
}

// record is one line, whose fields are read one by one. It collects the problems.
type record struct {
	line     int64
	values   map[string]json.RawMessage
	used     map[string]bool
	isCSV    bool
	problems []Problem
}

func newRecord(line int64) *record {
	return &record{line: line, values: map[string]json.RawMessage{}, used: map[string]bool{}}
}

func (r *record) wrong(field, reason string, args ...any) {
	r.problems = append(r.problems, Problem{Line: r.line, Field: field, Reason: fmt.Sprintf(reason, args...)})
}

// take returns a field's raw value; nil if it is missing or null.
func (r *record) take(name string) json.RawMessage {
	r.used[name] = true
	if value := bytes.TrimSpace(r.values[name]); !bytes.Equal(value, []byte("null")) {
		return value
	}
	return nil
}

// finish reports fields that were never read.
func (r *record) finish() {
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if !r.used[name] {
			r.wrong(shown(name), "is unknown: this record has no such field")
		}
	}
}

// isName matches a field's name. In a file without a heading, values appear in its place.
var isName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// shown returns the name of a field if it is valid, because otherwise it may be a value.
func shown(name string) string {
	if isName.MatchString(name) {
		return name
	}
	return "a field"
}
