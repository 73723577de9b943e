package decode

import (
	"strconv"
	"strings"
)

// maxNumber is the maximum length of a number that is written out in full.
const maxNumber = 64

// CanonicalNumber writes a JSON number without an exponent or insignificant zeros or, if that would be long, as digits with an
// exponent. It works on the text alone: 1e1000000000 costs no more than 1.
func CanonicalNumber(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	mantissa, exponent := digits, "0"
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		mantissa, exponent = digits[:i], digits[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp, err := strconv.Atoi(exponent)
	if err != nil || exp > 1<<30 || exp < -1<<30 {
		return s
	}
	point := len(whole) + exp
	all := whole + fraction
	trimmed := strings.TrimLeft(all, "0")
	point -= len(all) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return "0"
	}
	out := plain(trimmed, point)
	if negative {
		return "-" + out
	}
	return out
}

// plain writes 0.digits × 10^point.
func plain(digits string, point int) string {
	switch {
	case point > maxNumber || point < -maxNumber:
		return digits + "e" + strconv.Itoa(point-len(digits))
	case point >= len(digits):
		return digits + strings.Repeat("0", point-len(digits))
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	}
	return digits[:point] + "." + digits[point:]
}
