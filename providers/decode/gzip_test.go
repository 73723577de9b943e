package decode

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestGunzip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 9000)
	ended, end := context.WithCancel(t.Context())
	end()
	all := func(int) bool { return true }
	for name, c := range map[string]struct {
		ctx     context.Context
		packed  []byte
		limit   int
		reserve func(int) bool
		want    string
		err     error
	}{
		"a body":                            {t.Context(), zipped(t, `{"a":1}`), 100, all, `{"a":1}`, nil},
		"exactly the limit":                 {t.Context(), zipped(t, "12345"), 5, all, "12345", nil},
		"more than the limit":               {t.Context(), zipped(t, "123456"), 5, all, "", ErrUnpackedTooLarge},
		"two members":                       {t.Context(), append(zipped(t, "ab"), zipped(t, "cd")...), 9, all, "abcd", nil},
		"a small body that grows a lot":     {t.Context(), zipped(t, strings.Repeat("x", 60<<10)), 1 << 20, all, strings.Repeat("x", 60<<10), nil},
		"a bomb":                            {t.Context(), zipped(t, strings.Repeat("x", 1<<20)), 25 << 20, all, "", ErrUnpackedTooLarge},
		"already decompressed":              {t.Context(), []byte(`{"a":1}`), 1, all, `{"a":1}`, nil},
		"its end is missing":                {t.Context(), zipped(t, "0123456789")[:12], 1 << 20, all, "", ErrNotGzip},
		"something after its end":           {t.Context(), append(zipped(t, "ab"), "cd"...), 9, all, "", ErrNotGzip},
		"a wrong checksum":                  {t.Context(), changed(zipped(t, "ab")), 9, all, "", ErrNotGzip},
		"no memory":                         {t.Context(), zipped(t, "ab"), 9, func(int) bool { return false }, "", ErrNoMemory},
		"no memory for more than the first": {t.Context(), zipped(t, long), 1 << 20, once(), "", ErrNoMemory},
		"no time":                           {ended, zipped(t, long), 1 << 20, all, "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, err := Gunzip(c.ctx, c.packed, c.limit, c.reserve)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, string(plain))
		})
	}
}

// What is reserved bounds what is allocated, however little of it a bomb fills.
func TestGunzipReservesBeforeItAllocates(t *testing.T) {
	t.Parallel()
	reserved := 0
	_, err := Gunzip(t.Context(), zipped(t, strings.Repeat("x", 8<<20)), 1<<19, func(n int) bool { reserved += n; return true })
	require.ErrorIs(t, err, ErrUnpackedTooLarge)
	require.Equal(t, 1<<19+1, reserved)
}

func once() func(int) bool {
	asked := false
	return func(int) bool { first := !asked; asked = true; return first }
}

func changed(packed []byte) []byte {
	packed[len(packed)-5] ^= 1
	return packed
}

// Every form that is valid has the meaning that Go's strict reader gives it; others are read as browsers do.
func TestFormsAreReadAsBrowsersReadThem(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]map[string][]string{
		"a=1&b=2":              {"a": {"1"}, "b": {"2"}},
		"a=x;y&b=100%":         {"a": {"x;y"}, "b": {"100%"}},
		"a=%zz%4&&b":           {"a": {"%zz%4"}, "b": {""}},
		"%61=%C3%BC+%2b&a=%3B": {"a": {"ü +", ";"}},
		"=x":                   {"": {"x"}},
	} {
		require.Equal(t, want, map[string][]string(formFields(body)), body)
	}
}

func FuzzFormsThatAreValidHaveOneMeaning(f *testing.F) {
	f.Add("a=1&b=%41+%zz;c")
	f.Fuzz(func(t *testing.T, body string) {
		if strict, err := url.ParseQuery(body); err == nil {
			require.Equal(t, strict, formFields(body))
		}
	})
}
