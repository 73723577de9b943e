package jq

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/decode"
)

// An error has jq's message with types in place of values, so that it contains nothing of the payload.
func TestAnErrorHasTypesForValues(t *testing.T) {
	t.Parallel()
	const body = `{"text": "CANARY", "list": ["CANARY"], "object": {"CANARY": "CANARY"}, "number": 424242, "huge": 12345678901234567890123,
 "yes": true, "none": null, "mixed": [["CANARY"]], "zero": 0, "negative": -424242, "evaluate": ": evaluate CANARY"}`
	for source, want := range map[string]string{
		`.body.text.id`:                                "expected an object but got: string",
		`.body | .number.id`:                           "expected an object but got: number",
		`.body.list.id`:                                "expected an object but got: array",
		`.body.huge.id`:                                "expected an object but got: number",
		`.body.yes.id`:                                 "expected an object but got: boolean",
		`.body.object[0]`:                              "expected an array but got: object",
		`.body.text[]`:                                 "cannot iterate over: string",
		`.body.none[]`:                                 "cannot iterate over: null",
		`.body.huge[]`:                                 "cannot iterate over: number",
		`{(.body.list): 1}`:                            "expected a string for object key but got: array",
		`.body.list[.body.text]`:                       "expected an object but got: array",
		`.body.text + .body.number`:                    "cannot add: string and number",
		`.body.object - .body.text`:                    "cannot subtract: object and string",
		`-.body.text`:                                  "cannot negate: string",
		`.body.number / .body.zero`:                    "cannot divide number by zero",
		`.body.number % .body.zero`:                    "cannot modulo number by zero",
		`.body.text | tonumber`:                        "tonumber cannot be applied to this string",
		`.body.list | tonumber`:                        "tonumber cannot be applied to: array",
		`.body.text | fromjson`:                        "fromjson cannot be applied to this string",
		`.body.number | ascii_downcase`:                "ascii_downcase cannot be applied to: number",
		`.body.object | startswith("x")`:               "startswith(string) cannot be applied to: object",
		`.body as $b | $b.text | split($b.number)`:     "split(number) cannot be applied to: string",
		`.body.text | strptime("%Y")`:                  "strptime(string) cannot be applied to this string",
		`.body.number | test("x")`:                     "test(string; null) cannot be applied to: number",
		`.body.mixed | @csv`:                           "@csv cannot format an array including: array",
		`.body as $b | $b.list | flatten($b.negative)`: "flatten depth should not be negative",
		`.body.number | keys`:                          "keys cannot be applied to: number",
		`error(.body.text)`:                            "error: string",
		`error(.body.object)`:                          "error: object",
		`error(.body.evaluate)`:                        "error: string",
		`.body.none // error("an order has no ID")`:    "error: an order has no ID",
		`.body.text | try error("x") catch error`:      "error: x",
	} {
		x, err := Compile("entities[0].id", source)
		require.NoError(t, err, source)
		value, err := decode.JSON([]byte(body))
		require.NoError(t, err)
		_, err = x.All(context.Background(), NewInput(nil, nil, nil, value, nil), nil)
		require.ErrorIs(t, err, errEvaluation, source)
		failed := x.Failed(err)
		require.Equal(t, "jq_failed: "+want+": evaluate entities[0].id", failed.Error(), source)
		require.Equal(t, "entities[0].id", event.Failure{Code: failed.Code, Message: failed.Error()}.Rule(), source)
		raw, err := json.Marshal(failed)
		require.NoError(t, err)
		for _, piece := range []string{"CANARY", "424242", "1234567890"} {
			require.NotContains(t, strings.ToUpper(string(raw)), piece, source)
		}
	}
}
