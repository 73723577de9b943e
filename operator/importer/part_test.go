package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/operator/importer"
)

// parts reads a file in parts, as an import does.
func parts(t *testing.T, r *importer.Reader, text string) (lines []importer.Line, most int, err error) {
	t.Helper()
	err = importer.EachPart(strings.NewReader(text), r.Format, func(p importer.Part) error {
		most = max(most, len(p.Text))
		if r.Skipped = p.Skipped; p.TooLong != nil {
			lines = append(lines, importer.Line{N: p.TooLong.Line, Problems: []importer.Problem{*p.TooLong}})
		}
		return r.Each(bytes.NewReader(p.Text), func(l importer.Line) error {
			lines = append(lines, l)
			return nil
		})
	})
	slices.SortStableFunc(lines, func(a, b importer.Line) int { return int(a.N - b.N) })
	return lines, most, err
}

// A file is the same in parts and as a whole: each line with its number, and each mistake.
func TestAFileInPartsIsTheSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9_000)
	for name, file := range map[string]struct {
		format importer.Format
		text   func(n int) string
		first  string
	}{
		"JSON": {importer.FormatJSON, func(n int) string {
			return fmt.Sprintf(`{"record":"key","provider":"stripe","key":"%d%s","first_seen":1763620000}`+"\n", n, long)
		}, "\n"},
		"JSON with mistakes": {importer.FormatJSON, func(n int) string { return fmt.Sprintf("{\"record\":\"key\"}\n\n%d\n", n) }, "\ufeff"},
		"CSV": {importer.FormatCSV, func(n int) string { return fmt.Sprintf("key,stripe,%d%s,1763620000\n", n, long) },
			"record,provider,key,first_seen\n"},
		"CSV with quotes, empty lines and line breaks": {importer.FormatCSV, func(n int) string {
			return fmt.Sprintf("key,\"stripe\",\"%d\n\"\"\n%s\",1763620000\n\n", n, long)
		}, "\ufeff\n\n\"record\",provider,key,first_seen\r\n"},
		"CSV with mistakes": {importer.FormatCSV, func(n int) string { return fmt.Sprintf("key,none,%d,x\nkey,1\n", n) },
			"record,provider,key,first_seen\n"},
		"CSV with an open quote": {importer.FormatCSV, func(n int) string {
			if n == 450 {
				return "key,stripe,a\"b,1\n"
			}
			return "key,stripe,a,1763620000\n"
		}, "record,provider,key,first_seen\n"},
		"a heading": {importer.FormatCSV, func(int) string { return "" }, "record,Not a name\n"},
		"nothing":   {importer.FormatCSV, func(int) string { return "" }, "\n"},
		"no file":   {importer.FormatJSON, func(int) string { return "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := file.first
			for n := range 1000 {
				text += file.text(n)
			}
			text = strings.TrimSuffix(text, "\n") // the last line need not end
			whole := reader(t)
			whole.Format = file.format
			var want []importer.Line
			wantErr := whole.Each(strings.NewReader(text), func(l importer.Line) error { want = append(want, l); return nil })
			in := reader(t)
			in.Format = file.format
			lines, most, err := parts(t, in, text)
			require.Equal(t, wantErr, err)
			require.Len(t, lines, len(want))
			for n := range want {
				require.Equal(t, want[n], lines[n])
			}
			require.LessOrEqual(t, most, 5<<20)
			require.True(t, len(want) > 400 || strings.HasPrefix(name, "a h") || strings.HasPrefix(name, "no"))
		})
	}
}

// A long line has a part of its own, and one that is too long is named and skipped.
func TestALongLineInParts(t *testing.T) {
	t.Parallel()
	key := func(name string) string {
		return `{"record":"key","provider":"stripe","key":"` + name + `","first_seen":1763620000,"expires_at":"2990-01-02T00:00:00Z"}`
	}
	large := `{"record":"event","provider":"stripe","received_at":1763620000,"key":"k","body_base64":"` +
		strings.Repeat("e30g", 25<<20/3) + `"}`
	text := key("a") + "\n" + large + "\n" + strings.Repeat("x", importer.MaxLine+1) + "\n" + key("b") + "\n" +
		strings.Repeat("y", 40<<20)
	lines, most, err := parts(t, reader(t), text)
	require.NoError(t, err)
	require.Len(t, lines, 5)
	tooLong := fmt.Sprintf(": is longer than %d bytes", importer.MaxLine)
	require.Equal(t, []string{"line 3" + tooLong, "line 5" + tooLong}, problems(lines))
	require.Len(t, lines[1].Items[0].Body, 25<<20/3*3)
	require.Equal(t, int64(4), lines[3].Items[0].Line)
	require.Equal(t, operation.ImportKey, lines[3].Record)
	require.LessOrEqual(t, most, importer.MaxPart)
}

// The heading of CSV is read by every part, so it can't be a whole file.
func TestAnEndlessHeading(t *testing.T) {
	t.Parallel()
	err := importer.EachPart(endless{}, importer.FormatCSV, func(importer.Part) error { return nil })
	var unreadable *importer.FileError
	require.ErrorAs(t, err, &unreadable)
	err = importer.EachPart(strings.NewReader("a\n1\n"), importer.FormatCSV, func(importer.Part) error { return errors.New("stop") })
	require.EqualError(t, err, "stop")
}
