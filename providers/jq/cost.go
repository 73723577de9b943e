package jq

import (
	"encoding/json"
	"math/big"

	"github.com/itchyny/gojq"
)

// cost determines how the cost of an operation depends on its operands.
type cost string

const (
	// costWidth is for operations that copy a value, but not what is in it; costSize for those that read all of it.
	costWidth cost = "width"
	costSize  cost = "size"
	// costProduct is for operations that compare everything in one value with everything in the other.
	costProduct cost = "product"
	// costSquare is for searches that restart after each match.
	costSquare cost = "square"
	// costPieces is for splitting texts into many values, costJoin for joining values into one text.
	costPieces cost = "pieces"
	costJoin   cost = "join"
	// costTimes is for *, which repeats texts, merges objects and multiplies numbers of any length.
	costTimes cost = "times"
	// costPlace is for writing at a path, costLookUp for reading at one.
	costPlace  cost = "place"
	costLookUp cost = "look_up"
)

// perPiece is the cost of a piece of a text that becomes a value.
const perPiece = 48

// costs maps each of jq's own functions to its cost, by name and number of arguments. The others take constant time, or consist
// of steps. Functions with an argument that is computed for each value (sort_by and the like) are charged for its results, too.
var costs = map[string]cost{
	"keys/0": costWidth, "reverse/0": costWidth, "ascii_downcase/0": costWidth, "ascii_upcase/0": costWidth,
	"tonumber/0": costWidth, "strftime/1": costWidth, "utf8bytelength/0": costWidth, "length/0": costWidth,
	"add/0": costSize, "add/1": costSize, "tostring/0": costSize, "tojson/0": costSize, "format/1": costSize,
	"flatten/0": costSize, "flatten/1": costSize, "implode/0": costSize, "error/0": costSize, "error/1": costSize,
	"min/0": costSize, "max/0": costSize, "sort/0": costSize, "unique/0": costSize, "bsearch/1": costSize,
	"min_by/1": costSize, "max_by/1": costSize, "sort_by/1": costSize, "group_by/1": costSize, "unique_by/1": costSize,
	"INDEX/1": costSize, "INDEX/2": costSize, "IN/1": costSize, "IN/2": costSize, "from_entries/0": costSize,
	"test/1": costSize, "match/1": costSize, "capture/1": costSize, "sub/2": costSize, "strptime/1": costSize,
	"test/2": costSquare, "match/2": costSquare, "capture/2": costSquare, "sub/3": costSquare, "gsub/2": costSquare,
	"gsub/3": costSquare, "scan/1": costSquare, "scan/2": costSquare, "splits/1": costSquare, "splits/2": costSquare,
	"split/2": costSquare, "split/1": costPieces, "explode/0": costPieces, "fromjson/0": costPieces,
	"contains/1": costProduct, "inside/1": costProduct, "indices/1": costProduct, "index/1": costProduct,
	"rindex/1": costProduct, "join/1": costJoin,
}

var operatorCosts = map[gojq.Operator]cost{
	gojq.OpAdd: costWidth, gojq.OpSub: costProduct, gojq.OpMul: costTimes, gojq.OpDiv: costPieces, gojq.OpMod: costProduct,
	gojq.OpEq: costSize, gojq.OpNe: costSize, gojq.OpLt: costSize, gojq.OpLe: costSize, gojq.OpGt: costSize, gojq.OpGe: costSize,
}

// chargeFunction is jq's _charge(cost; x; y; meter): it returns its input.
func chargeFunction(input any, args []any) any {
	m, ok := args[3].(*meter)
	kind, _ := args[0].(string)
	if !ok || !m.chargeFor(cost(kind), args[1], args[2]) {
		return errTooCostly
	}
	return input
}

// chargeFor charges for an operation on x and, if it has two operands, y.
func (m *meter) chargeFor(kind cost, x, y any) bool {
	switch kind {
	case costWidth:
		return m.charge(width(x) + width(y))
	case costProduct:
		return m.charge(m.size(x) * m.size(y) / perValue)
	case costSquare:
		n := m.size(x)
		return m.charge(n * n / perValue)
	case costPieces:
		return m.charge(perPiece*width(x) + width(y))
	case costJoin:
		return m.size(x) > 0 && m.charge(width(x)/perValue*width(y))
	case costTimes:
		return m.chargeTimes(x, y)
	case costPlace:
		n, isNumber := numberOf(x)
		return !isNumber || m.charge(bounded(n)*perValue/2)
	case costLookUp:
		_, isList := x.([]any)
		return !isList // jq searches for one list in the other
	case costSize:
	}
	return m.size(x) > 0 && m.size(y) > 0
}

func (m *meter) chargeTimes(x, y any) bool {
	for _, operands := range [][2]any{{x, y}, {y, x}} {
		if s, ok := operands[0].(string); ok {
			n, _ := numberOf(operands[1])
			return m.charge(bounded(n) * max(len(s), 1))
		}
	}
	return m.charge(m.size(x) * m.size(y) / perValue)
}

// bounded limits a number to a range that is safe to compute with: its size above every budget doesn't matter.
func bounded(n float64) int { return int(min(max(n, 0), 2*maxCost)) }

// numberOf returns a number as jq sees it, whatever its Go type.
func numberOf(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case *big.Int:
		n, _ = new(big.Float).SetInt(v).Float64()
		return n, true
	case json.Number:
		n, err := v.Float64() // out of range it becomes infinite, as intended
		return n, err == nil || n != 0
	}
	return 0, false
}
