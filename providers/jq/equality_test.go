package jq_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/jq"
)

// Required equalities are found if they are certain, and not otherwise.
func TestRequiredEqualities(t *testing.T) {
	t.Parallel()
	type found struct {
		names string
		value any
		alone bool
	}
	for source, want := range map[string]*found{
		`.body.account == "a7"`:                            {"[body account]", "a7", true},
		`("a7" == .body["account"])`:                       {"[body account]", "a7", true},
		`.body.n == 1.0`:                                   {"[body n]", json.Number("1"), true},
		`.body.live == true and .body.x > 1`:               {"[body live]", true, false},
		`.body.x > 1 and (.body.y and .event.type == "t")`: {"[event type]", "t", false},
		`.a == "1" and .b == "2"`:                          {"[a]", "1", false},
		`.a == "1" or .b == "2"`:                           nil,
		`(.a == "1") | not`:                                nil,
		`.a == null`:                                       nil,
		`.a == .b`:                                         nil,
		`.a == "x\(.b)"`:                                   nil,
		`.a[0] == 1`:                                       nil,
		`.a? == 1`:                                         nil,
		`.a == 9007199254740993`:                           nil,
		`.a as $x | .a == "1"`:                             nil,
		`def f: 1; .a == "1"`:                              nil,
		`if true then .a == "1" else true end`:             nil,
		`.a == `:                                           nil,
	} {
		e, alone, ok := jq.RequiredEquality(source)
		require.Equal(t, want != nil, ok, source)
		if want != nil {
			require.Equal(t, want.names, fmt.Sprint(e.Names), source)
			value, _ := jq.Comparable(want.value)
			require.Equal(t, value, e.Value, source)
			require.Equal(t, want.alone, alone, source)
		}
	}
}

// Values have equal texts if and only if jq finds them equal.
func TestComparableValues(t *testing.T) {
	t.Parallel()
	values := []any{
		json.Number("1"), json.Number("1.0"), json.Number("10e-1"), json.Number("-0"), json.Number("0"), json.Number("0.1"), "1", "true",
		true, false, "", json.Number("9007199254740991"), json.Number("9007199254740991.0"),
	}
	equal, err := jq.Compile("equal", `.a == .b`)
	require.NoError(t, err)
	for _, a := range values {
		for _, b := range values {
			v, err := equal.Once(jq.Input{Value: map[string]any{"a": a, "b": b}})
			require.NoError(t, err)
			x, _ := jq.Comparable(a)
			y, _ := jq.Comparable(b)
			require.Equal(t, v == true, x == y, "%v and %v", a, b)
		}
	}
	for _, v := range []any{nil, []any{}, map[string]any{}, json.Number("9007199254740992"), json.Number("1e400")} {
		_, ok := jq.Comparable(v)
		require.False(t, ok, "%v", v)
	}
}
