package jq

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/decode"
)

// expressionOf compiles a valid expression.
func expressionOf(t testing.TB, source string) *Expression {
	t.Helper()
	x, err := Compile("state", source)
	require.NoError(t, err, source)
	return x
}

// costlyInput returns a number, a long text and long lists, as a body of 256 KiB may contain.
func costlyInput() Input {
	list := func(n int, v any) []any {
		all := make([]any, n)
		for i := range all {
			all[i] = v
		}
		return all
	}
	return NewInput(nil, nil, nil, map[string]any{
		"n": 500_000_000, "s": strings.Repeat("x", 200<<10), "a": list(60_000, 0), "b": list(60_000, 1),
		"deep": map[string]any{"s": strings.Repeat("y", 100<<10)}, "re": "x",
	}, nil)
}

// No expression allocates more than this, for any input. A growing array is copied as it grows, so only a fifth of all
// allocations is kept.
const allocatedByExpression = 512 << 20

// An expression that would take unlimited time or memory is stopped: at the same point every time rather than by a clock, and
// even if it catches the error.
func TestCostlyExpressionsAreStopped(t *testing.T) {
	in := costlyInput()
	for _, source := range []string{
		// A length comes from the body.
		`.body.n as $n | [] | .[$n] = 1`, `.body.n as $n | [] | .[$n] |= 1`, `.body.n as $n | [] | .[$n] += 1`,
		`.body.n as $n | null | .[[$n][0]] = 1`, `def put(place): place = 1; .body.n as $n | [] | put(.[$n])`,
		`def at: .[500000000 + 0]; [] | at = 1`, `.body.n as $n | [] | (try .[$n] catch 0) = 1`,
		`.body.n as $n | "x" * $n`, `.body.n as $n | $n * "x"`, `.body.n as $n | "x" | . *= $n`,
		`[range(.body.n)]`, `[limit(.body.n; repeat(1))]`, `[range(0; infinite)]`, `last(range(.body.n))`,
		// It doubles.
		`reduce range(40) as $i (.; [., .]) | tojson`, `reduce range(40) as $i (.; {a: ., b: .}) | flatten`,
		`reduce range(40) as $i (.; [., .]) | . == .`, `reduce range(40) as $i (.; [., .]) | "\(.)"`,
		`reduce range(40) as $i (.; [., .]) | @json`, `reduce range(40) as $i (.; [., .]) | unique`,
		`reduce range(40) as $i ("x"; . + .)`, `reduce range(40) as $i ("x"; . += .)`, `reduce range(40) as $i ([1]; . + .)`,
		`reduce range(40) as $i (3; . * .)`, `reduce range(40) as $i (3; . *= .)`, `reduce range(40) as $i ("x"; "\(.)\(.)")`,
		`reduce range(40) as $i ([1]; [.[], .[]])`, `reduce range(40) as $i ("x"; [., .] | add)`,
		// It never ends, or recurses deeply.
		`def f: [f]; f`, `def f: 1 + f; f`, `[repeat(1)]`, `0 | last(recurse(. + 1; true))`, `def f: (.body.a[] | 1), f; [f]`,
		`reduce range(1000000) as $i (0; [.]) | tojson`, `reduce range(1000000) as $i (0; {a: .}) | tostring`,
		`[.body.a[] as $x | .body.a[] as $y | 1]`, `def f: .body.a[] as $x | f; f`,
		// Each of many values is long.
		`[.body.a[] as $x | .body.s + "y"]`, `[.body.a[] as $x | .body.s | ascii_upcase]`, `[.body.a[] as $x | "\(.body.s)"]`,
		`[.body.a[] as $x | .body.s | @base64]`, `[.body.a[] as $x | .body.deep | tojson]`, `.body.s as $s | .body.a | map(tostring) | join($s)`,
		`.body.s as $s | add(.body.a[] | $s)`, `.body as $b | .body.a | sort_by($b)`, `.body as $b | .body.a | group_by($b.deep | tojson)`,
		`[.body.a[] as $x | .body.a | keys]`, `[.body.a[] as $x | .body.s | explode]`, `[.body.a[] as $x | .body.a | reverse]`,
		// It compares everything with everything.
		`[.body.s | match("x"; "g")]`, `.body.s | gsub("x"; "y")`, `[.body.s | scan("x")]`, `.body.s | split("x"; null)`, `[.body.s | splits("x")]`,
		`.body.a - .body.b`, `.body as $b | .body.a | contains($b.b)`, `.body as $b | .body.a | indices($b.a)`,
		`.body as $b | .body.a | inside($b.b)`,
		// It catches the error.
		`try (reduce range(40) as $i ("x"; . + .)) catch "caught"`, `(.body.n as $n | "x" * $n)? // "other"`,
		`[.body.a[] | try ("x" * 500000000) catch 0]`,
	} {
		x := expressionOf(t, source)
		got := allocatedBy(func() {
			_, err := x.All(context.Background(), in, nil)
			require.Equal(t, errTooCostly, err, source)
			require.False(t, IsDeadline(err))
			require.Equal(t, "jq_too_costly", event.CodeOf(x.Failed(err)))
		})
		require.LessOrEqual(t, got, uint64(allocatedByExpression), source)
	}
	_, err := expressionOf(t, `.body.a[.body.a]`).First(context.Background(), in, nil)
	require.Equal(t, errTooCostly, err, "a list is looked for in another")
}

// An expression that no budget could stop is refused when the definition is loaded.
func TestUnboundedExpressionsAreRefused(t *testing.T) {
	t.Parallel()
	for source, reason := range map[string]string{
		`[] | .[500000000] = 1`:           "an assignment cannot fill an array up to 500000000: want at most 10000",
		`[] | .[1e99] |= 1`:               "an assignment cannot fill an array up to 1e99: want at most 10000",
		`.a[20000].b += 1`:                "an assignment cannot fill an array up to 20000: want at most 10000",
		`nth(.n) = 1`:                     "nth cannot be assigned to: write .[n]",
		`[[1, 2]] | [combinations]`:       "combinations cannot be used: it can take memory without bound",
		`[1] | [combinations(9)]`:         "combinations cannot be used: it can take memory without bound",
		`pick(.[1000000000])`:             "pick cannot be used: it can take memory without bound",
		`transpose`:                       "transpose cannot be used: it can take memory without bound",
		`fromstream(.[])`:                 "fromstream cannot be used: it can take memory without bound",
		`setpath([500000000]; 1)`:         "setpath cannot be used: it can take memory without bound",
		`.a | test(.b)`:                   "the pattern of test must be a text as it is: one that comes with an event can take memory without bound",
		`.a | gsub("\(.b)"; "")`:          "the pattern of gsub must be a text as it is: one that comes with an event can take memory without bound",
		`.a | split(.b; null)`:            "the pattern of split must be a text as it is: one that comes with an event can take memory without bound",
		`_match("x"; "g"; false)`:         "_match cannot be used: names that begin with _ are jq's own",
		`def _charge(a; b; c; d): .; .a`:  "_charge cannot be used: names that begin with _ are jq's own",
		`.a as $__meter | $__meter`:       "$__meter cannot be used: names that begin with _ are jq's own",
		`$__left`:                         "$__left cannot be used: names that begin with _ are jq's own",
		`def f: .[20000] = 1; f`:          "an assignment cannot fill an array up to 20000: want at most 10000",
		`.a[0] = ([] | .[99999999] |= 1)`: "an assignment cannot fill an array up to 99999999: want at most 10000",
	} {
		_, err := Compile("state", source)
		require.ErrorContains(t, err, reason, source)
	}
}

// Metering doesn't change the result of an expression.
func TestMeteredExpressionsMatchJQ(t *testing.T) {
	t.Parallel()
	body, err := decode.JSON([]byte(`{"a":[3,1,2,1],"s":"a-b-c","o":{"x":{"y":1,"z":null},"w":[{"id":1},{"id":2,"k":"v"}]},"n":2,"f":1.5,
		"big":123456789012345678901234567890,"e":[],"t":"2026-01-01T00:00:00Z"}`))
	require.NoError(t, err)
	in := NewInput(map[string]string{"x-id": "h"}, nil, nil, body, nil)
	for _, source := range []string{
		`.body`, `..`, `.body | keys`, `.body.a | add, length, sort, unique, min, max, reverse`, `[.body.a[] | . + 1]`, `.body.a[1:3]`,
		`(1, 2) + (10, 20)`, `[(1, 2) - (10, 20)]`, `(2, 3) * (5, 7)`, `(1, 2) == (1, 2)`, `(6, 8) / (2, 4)`, `7 % 4`, `-(.body.n)`,
		`.body.s / "-"`, `.body.s * 2`, `.body.o * {x: {y: 2}}`, `.body.a - [1]`, `.body.big * .body.big`, `.body.big + 1`, `.body.f * 2`,
		`.body.o.w[] |= (.id += 1)`, `.body.a[1] = 9`, `.body.a[.body.n] = 9`, `.body.n as $n | .body.a[$n] |= . + 1`, `.body.o.x["y"] += 5`,
		`.body.o.x.z //= 3`, `.body.n -= 1`, `.body.n *= 3`, `.body.n /= 2`, `.body.n %= 2`, `.body.n += (1, 2)`, `.body.s += "x"`,
		`.body.a[0], .body.a[-1], .body.a[.body.n]`, `.body[("s", "n")]`, `.body["s"]`, `.body["\("s")"]`, `.body.o.w[]?.id`, `.body.a[]?`,
		`(.body.o.w[] | select(.id == 2) | .k) = "new"`, `.body | to_entries | map(.key) | join(",")`, `.body.o | with_entries(.value |= tojson)`,
		`.body.s | test("b"), sub("-"; "+"), gsub("-"; "+"), split("-"), ascii_upcase, explode, length, ltrimstr("a")`,
		`.body.s | [match("-"; "g").offset], [scan("[a-c]")], capture("(?<x>b)"), [splits("-")], split("-"; "g")`,
		`.body.s | index("-"), rindex("-"), indices("-"), contains("b"), startswith("a")`, `.body.a | contains([1]), index(1), indices([1, 2])`,
		`.body.o.w | sort_by(.id), group_by(.id), unique_by(.k), min_by(.id), max_by(.id)`, `[.body.a[] | tostring] | add`, `add(.body.a[])`,
		`.body.o.w | INDEX(.id)`, `.body.n | IN(1, 2)`, `[limit(2; .body.a[])]`, `first(.body.a[])`, `[.body.a | .[] as $x | $x * 2]`,
		`"\(.body.s) and \(.body.a)"`, `@base64 "x\(.body.s)"`, `.body.s | @base64, @uri, @html, @json`, `.body.a | @csv, @tsv, @sh`, `.body | tojson | fromjson`,
		`reduce .body.a[] as $x (0; . + $x)`, `foreach .body.a[] as $x (0; . + $x; [$x, .])`, `reduce .body.o.w[] as $w ({}; .[$w.id | tostring] = $w)`,
		`def double: . * 2; .body.a | map(double)`, `def f(p): p |= 5; .body | f(.a[0])`, `def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 20 | fac`,
		`.body | del(.a[0], .o)`, `.body.o | paths`, `[.body.o | path(..)]`, `.body | map_values(type)`, `.body.a | map(select(. > 1))`, `.body.o | walk(.)`,
		`try error("x") catch .`, `.body.nothing?.x // "none"`, `.body.s.x?`, `.body.a.x`, `if .body.n > 1 then "many" elif .body.n == 1 then "one" else "none" end`,
		`.body.a as [$x, $y] | $x + $y`, `.body as {$n, s: $t} | "\($n)\($t)"`, `.body.t | fromdateiso8601`, `.body.a | any(. > 2), all(. > 0)`,
		`label $out | .body.a[] | if . == 2 then ., break $out else . end`, `.headers["x-id"] + "!"`, `$root`, `.body.a | flatten, (. | tojson)`,
		`def f: def g: 3; g + 1; f + 1`, `[.body.a[] | {(tostring): .}] | add`, `.body.o.w | map({id, k: (.k // "none")})`, `{a: (1, 2), b: (3, 4)}`,
		`.body.o.w[1:] |= map(.id)`, `.body.a[:2] = [0]`, `[.body.a[:2][]]`, `.body | has("a"), (.a | has(9))`, `.body.e | add, first, length`,
	} {
		query, err := gojq.Parse(source)
		require.NoError(t, err, source)
		plain, err := gojq.Compile(query, gojq.WithVariables([]string{"$root", "$item"}))
		require.NoError(t, err, source)
		x := expressionOf(t, source)
		x.Names = nil
		m := newMeter(context.Background())
		wanted, got := plain.RunWithContext(context.Background(), in.Value, in.Root, nil), x.code.RunWithContext(m, in.Value, in.Root, nil, m)
		for i := 0; ; i++ {
			want, more := wanted.Next()
			have, also := got.Next()
			require.Equal(t, more, also, "%s: value %d", source, i)
			if !more {
				break
			}
			if wrong, failed := want.(error); failed {
				require.EqualError(t, have.(error), wrong.Error(), source)
				break
			}
			require.Equal(t, want, have, source)
		}
	}
}

// allocatedBy returns how much a function allocates. It must not run in parallel with other tests.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
