package persistence_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/persistence/postgres"
)

func TestProjection(t *testing.T) {
	t.Parallel()
	db := open(t)
	const exact = `[9007199254740993,12345678901234567890,0.1000,-0,1E5]`
	digits := strings.Repeat("9", 1000)
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for name, c := range map[string]struct{ raw, want, note string }{
		"plain":               {`{"id": "evt_1",  "n": [1, true, null]}`, `{"id": "evt_1",  "n": [1, true, null]}`, ""},
		"scalar":              {` 5 `, ` 5 `, ""},
		"exact digits":        {exact, exact, ""},
		"escapes":             {`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, `"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, ""},
		"escaped backslash":   {`"\\u0000"`, `"\\u0000"`, ""},
		"NUL in a value":      {`{"a":"x\u0000y"}`, `{"a":"x` + "\uFFFD" + `y"}`, "replaced_nul"},
		"NUL in a key":        {`{"\u0000":1}`, `{"` + "\uFFFD" + `":1}`, "replaced_nul"},
		"lone high":           {`"\ud800"`, `"` + "\uFFFD" + `"`, "replaced_surrogate"},
		"lone low":            {`"\uDC00x"`, `"` + "\uFFFD" + `x"`, "replaced_surrogate"},
		"high, then text":     {`"\ud800\n\u0041"`, `"` + "\uFFFD" + `\n\u0041"`, "replaced_surrogate"},
		"high, then a pair":   {`"\ud800\ud83d\ude00"`, `"` + "\uFFFD" + `\ud83d\ude00"`, "replaced_surrogate"},
		"high, then NUL":      {`"\ud800\u0000"`, `"` + "\uFFFD\uFFFD" + `"`, "replaced_surrogate,replaced_nul"},
		"invalid UTF-8":       {"\"a\xffb\xc3\"", "\"a\uFFFDb\uFFFD\"", "replaced_utf8"},
		"surrogate in UTF-8":  {"\"\xed\xa0\x80\"", "\"\uFFFD\uFFFD\uFFFD\"", "replaced_utf8"},
		"overlong NUL":        {"\"\xc0\x80\"", "\"\uFFFD\uFFFD\"", "replaced_utf8"},
		"large exponent":      {`[1e308,-1e-308,1e0000000001]`, `[1e308,-1e-308,1e0000000001]`, ""},
		"smallest double":     {`[5e-324,49406564584124654e-340]`, `[5e-324,49406564584124654e-340]`, ""},
		"too large exponent":  {`[1e309,1E-400,1e-341,2]`, `["1e309","1E-400","1e-341",2]`, "quoted_number"},
		"negative zero":       {`[-0,-0.0,1E5,1.50]`, `[-0,-0.0,1E5,1.50]`, ""},
		"absurd exponent":     {`{"n":1e1000000000}`, `{"n":"1e1000000000"}`, "quoted_number"},
		"many digits":         {digits, digits, ""},
		"many decimals":       {`-0.` + digits[1:], `-0.` + digits[1:], ""},
		"too many digits":     {digits + "9", `"` + digits + `9"`, "quoted_number"},
		"deep":                {nested(1000), nested(1000), ""},
		"too deep":            {nested(1001), "", "too_deep"},
		"far too deep":        {nested(100_000), "", "not_json"},
		"brackets in strings": {`"` + strings.Repeat("[", 2000) + `"`, `"` + strings.Repeat("[", 2000) + `"`, ""},
		"HTML":                {`"<script>&\u2028</script>"`, `"<script>&\u2028</script>"`, ""},
		"numbers that expand": {`[` + strings.Repeat(`1e308,`, 3404) + `1e-1]`, `[` + strings.Repeat(`1e308,`, 3404) + `1e-1]`, ""},
		"a bomb of numbers":   {`[` + strings.Repeat(`1e308,`, 3405) + `0]`, "", "too_large"},
		"a bomb below zero":   {`[` + strings.Repeat(`1E-300,`, 3500) + `0]`, "", "too_large"},
		"empty":               {``, "", "not_json"},
		"text":                {`hello`, "", "not_json"},
		"a byte order mark":   {"\uFEFF{}", "{}", ""},
		"raw NUL":             {"\"\x00\"", "", "not_json"},
		"NaN":                 {`NaN`, "", "not_json"},
		"two documents":       {`{} {}`, "", "not_json"},
		"trailing comma":      {`{"a":1,}`, "", "not_json"},
		"leading zero":        {`01`, "", "not_json"},
		"truncated":           {`{"a":"\u00`, "", "not_json"},
		"too large":           {`"` + strings.Repeat(" ", 64<<20) + `"`, "", "too_large"},
	} {
		got, note := postgres.Project([]byte(c.raw))
		require.Equal(t, c.note, note, name)
		require.Equal(t, c.want, string(got), name)
		if got != nil {
			require.True(t, value[bool](db, `SELECT $1::text::jsonb IS NOT NULL`, string(got)), name)
		}
	}
}

func TestDigitsSurviveTheDatabase(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, number := range []string{
		"9007199254740993", "12345678901234567890.10", "0.1000000000000000000000000000001",
	} {
		require.Equal(t, number, value[string](db, `SELECT $1::text::jsonb::text`, number))
	}
}

// Every number that a double holds stays a number in the state of an entity, and large ones keep their digits.
func TestNumbersOfAStateStayNumbers(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.process(receipt(), parsed(snapshot("numbers", `{"least":5e-324,"least17":49406564584124654e-340,"most":1.7976931348623157e308,"large":12345678901234567890123,"upper":1E5,
		"zero":-0,"beyond":1e400}`)))
	for name, holds := range map[string]string{
		"least": "jsonb_typeof(v) = 'number' AND v::float8 = 5e-324", "least17": "jsonb_typeof(v) = 'number' AND v::float8 = 5e-324",
		"most": "jsonb_typeof(v) = 'number' AND v::float8 = 1.7976931348623157e308", "large": "v::text = '12345678901234567890123'",
		"upper": "v::text = '100000'", "zero": "v::text = '0'", "beyond": `v = '"1e400"'`,
	} {
		require.True(t, value[bool](db, `SELECT `+holds+` FROM (SELECT state->$1 AS v FROM entities) AS e`, name), name)
	}
}

// A projection takes linear time, whatever is in it: what is quadratic would not come to an end here.
func TestAHostileBodyIsProjected(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for _, unit := range []string{`\u0000`, `\ud800`, "\xff", `\"`, `1`} {
		number := "1" + strings.Repeat("0", size) + "e" + strings.Repeat("9", size)
		raw := `["` + strings.Repeat(unit, size/len(unit)) + `",` + number + `]`
		projection, _ := postgres.Project([]byte(raw))
		require.NotNil(t, projection)
	}
}

// The server decides what jsonb holds: whatever the bytes are, it accepts their projection.
func FuzzProjection(f *testing.F) {
	for _, seed := range []string{
		`{"a":"\u0000\ud800\udc00\ud800","b":[1e400,-0.0,1E5]}`, "\"\xff\xed\xa0\x80\"",
		`{"a":{"a":null},"a":1}`, `NaN`, ``,
	} {
		f.Add([]byte(seed))
	}
	db := open(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		projection, note := postgres.Project(raw)
		if projection == nil {
			require.NotEmpty(t, note)
			require.False(t, json.Valid(raw) && len(raw) <= 1000, "JSON has a projection")
			return
		}
		require.True(t, json.Valid(projection))
		if note == "" {
			require.Equal(t, raw, projection, "what needs no change has none")
		}
		again, note := postgres.Project(projection)
		require.True(t, bytes.Equal(projection, again) && note == "", "a projection is its own projection")
		var stored bool
		err := db.sql.QueryRow(t.Context(), `SELECT $1::text::jsonb IS NOT NULL`, string(projection)).Scan(&stored)
		require.NoError(t, err)
	})
}
