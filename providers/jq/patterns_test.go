package jq

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/decode"
)

// A pattern that can't be used is refused with its place when the expression is compiled, and not once an event reaches it.
func TestPatternsAreCompiledBeforeAnEventArrives(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`.body.a | test("a(?=b)")`:                     `the pattern "a(?=b)" of test isn't valid at character 2: look-ahead isn't supported (the syntax is RE2's)`,
		`.body.a | test("é(?!b)")`:                     `the pattern "é(?!b)" of test isn't valid at character 2: look-ahead isn't supported (the syntax is RE2's)`,
		`.body.a | capture("(?<=a)b")`:                 `the pattern "(?<=a)b" of capture isn't valid at character 1: look-behind isn't supported (the syntax is RE2's)`,
		`.body.a | sub("(a)\\1"; "b")`:                 `the pattern "(a)\\1" of sub isn't valid at character 4: a reference to a group isn't supported (the syntax is RE2's)`,
		`.body.a | gsub("(?<x>a)\\k<x>"; "b"; "i")`:    `the pattern "(?<x>a)\\k<x>" of gsub isn't valid at character 8: a reference to a group isn't supported (the syntax is RE2's)`,
		`.body.a | match("(?>a)")`:                     `the pattern "(?>a)" of match isn't valid at character 1: an atomic group isn't supported (the syntax is RE2's)`,
		`.body.a | scan("a["; "g")`:                    `the pattern "a[" of scan isn't valid at character 2: missing closing ]: [`,
		`.body.a | scan("(a")`:                         `the pattern "(a" of scan isn't valid: missing closing ): (a`,
		`.body.a | splits("a**")`:                      `the pattern "a**" of splits isn't valid at character 2: invalid nested repetition operator: **`,
		`.body.a | split("a{1001}"; null)`:             `the pattern "a{1001}" of split isn't valid at character 2: invalid repeat count: {1001}`,
		`.body.a | test("a"; "x")`:                     `the flag "x" of test isn't supported: use g, i (upper and lower case are equal) and m (a dot is also a line break)`,
		`.body.a | gsub("a"; "b"; "gis")`:              `the flag "s" of gsub isn't supported: use g, i (upper and lower case are equal) and m (a dot is also a line break)`,
		`[.body.a | {x: sub("a"; gsub("(?=b)"; ""))}]`: `the pattern "(?=b)" of gsub isn't valid at character 1: look-ahead isn't supported (the syntax is RE2's)`,
		`.body.a | test(1)`:                            `the pattern of test must be a string`,
	} {
		_, err := Compile("type", source)
		require.EqualError(t, err, want, source)
		_, err = CompileName("key", source)
		require.EqualError(t, err, want, source)
	}
	_, err := Compile("type", `.body.a | capture("(?<x-y>a)")`)
	require.ErrorContains(t, err, "at character 1: invalid named capture")
	for _, source := range []string{
		`.body.a | test("(?i)^\\d+$"; "gim")`, `.body.a | split("(")`, `.body.a | sub("(?<x>a)"; "\(.x)b"; null)`, `.body.a | test("a"; .flags)`,
		`def test(f): f; .body.a | test("(")`, `.body.a | splits("a+|b")`, `.body.a | ltrimstr("(")`,
	} {
		_, err := Compile("type", source)
		require.NoError(t, err, source)
	}
}

// Flags that come with an event fail with a reason that has none of its values.
func TestFlagsOfAnEventFailWithAReason(t *testing.T) {
	t.Parallel()
	x, err := Compile("type", `.body as $b | $b.a | test("a"; $b.flags)`)
	require.NoError(t, err)
	value, err := decode.JSON([]byte(`{"a": "b", "flags": "secret7"}`))
	require.NoError(t, err)
	_, err = x.Once(NewInput(nil, nil, nil, value, nil))
	require.Equal(t, "jq_failed: a flag of a regular expression isn't supported: evaluate type", x.Failed(err).Error())
}
