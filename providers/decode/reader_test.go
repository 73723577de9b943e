package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e9": "0", "1": "1", "-1": "-1", "1.0": "1", "1e0": "1", "10e-1": "1",
		"1E5": "100000", "100000": "100000", "1.50": "1.5", "0.00100": "0.001", "-12.30e1": "-123",
		"9007199254740993": "9007199254740993", "12345678901234567890": "12345678901234567890",
		"1e1000000000": "1e1000000000", "1e99999999999999999999": "1e99999999999999999999",
		"123e100": "123e100", "1.23e102": "123e100", "1e-100": "1e-100",
	} {
		require.Equal(t, want, CanonicalNumber(in), in)
	}
}

// FuzzReader compares the reader with the standard library: they accept the same texts and read the same values.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00\n",true,false,null,{}],"b":""}`, `[]`, `"\ud800"`, ` -0 `, `{"a":1,"a":2}`,
		`[1,]`, `{"a"}`, `1 2`, "\"\t\"", `01`, `"\`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := JSON(data)
		if code := event.CodeOf(err); err != nil && code != "malformed_json" {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		wantErr := d.Decode(&want)
		if wantErr == nil {
			if _, end := d.Token(); !errors.Is(end, io.EOF) {
				wantErr = errMalformed
			}
		}
		require.Equal(t, wantErr == nil, err == nil, "%q: %v, %v", data, wantErr, err)
		if err == nil {
			require.Equal(t, want, got)
		}
	})
}
