#!/usr/bin/env bash
# Money: how many digits a currency has differs between libraries, so that an amount in minor units is a hundred times another.
#
# Versions: Rhymond/go-money 1.0.15, golang.org/x/text 0.44.0 (Go 1.26), dinero.js 2.0.2 (npm), Intl of Node 20.20 (ICU 78).
# Guess:    ISO 4217 defines the digits of a currency's minor unit, and ECMA-402 takes them from there for Intl.NumberFormat, so that
#           each library makes the same amount of the number in a payment provider's event. Only currencies with 0 or 3 digits are risky.
# Seen:     go-money and dinero.js have ISO's digits. Intl and x/text have those that are used in everyday life (Unicode's CLDR), in two
#           editions of it: IDR, PKR, COP and IQD have none in both, HUF has none in Intl only, RSD and MUR in x/text only. So 500000 of
#           IDR is 5000.00 or 500000, and of IQD 500.000 or 500000. x/text doesn't know new currencies, such as XCG.
# Hurts:    developers who convert minor units by a formatter's digits (maximumFractionDigits, currency.Standard.Rounding): amounts are
#           wrong by a factor of 100 or 1000, for a few countries, and change when Node is updated. Keep a table of ISO's digits,
#           and your provider's exceptions.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund dinero.js@2.0.2
echo '["EUR", "JPY", "KWD", "HUF", "IDR", "PKR", "COP", "IQD", "RSD", "MUR", "XCG"]' >currencies.json
cat >amounts.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { dinero, toDecimal } from 'dinero.js';
import * as currencies from 'dinero.js/currencies';

for (const currency of JSON.parse(readFileSync('currencies.json'))) {
  const digits = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  const amount = toDecimal(dinero({ amount: 500000, currency: currencies[currency] }));
  console.log(`500000 of ${currency}: dinero.js ${amount}, Intl ${(500000 / 10 ** digits).toFixed(digits)}`);
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/Rhymond/go-money v1.0.15
	golang.org/x/text v0.44.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/Rhymond/go-money"
	"golang.org/x/text/currency"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func amount(digits int) string { return fmt.Sprintf("%.*f", digits, 500000/math.Pow10(digits)) }

func main() {
	text, err := os.ReadFile("currencies.json")
	check(err)
	var codes []string
	check(json.Unmarshal(text, &codes))
	for _, code := range codes {
		standard := "unknown"
		if unit, err := currency.ParseISO(code); err == nil {
			digits, _ := currency.Standard.Rounding(unit)
			standard = amount(digits)
		}
		fmt.Printf("500000 of %s: go-money %s, x/text %s\n", code, amount(money.GetCurrency(code).Fraction), standard)
	}
}
GO
go mod tidy 2>/dev/null
{ go run . && node amounts.mjs; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
500000 of EUR: go-money 5000.00, x/text 5000.00
500000 of JPY: go-money 500000, x/text 500000
500000 of KWD: go-money 500.000, x/text 500.000
500000 of HUF: go-money 5000.00, x/text 5000.00
500000 of IDR: go-money 5000.00, x/text 500000
500000 of PKR: go-money 5000.00, x/text 500000
500000 of COP: go-money 5000.00, x/text 500000
500000 of IQD: go-money 500.000, x/text 500000
500000 of RSD: go-money 5000.00, x/text 500000
500000 of MUR: go-money 5000.00, x/text 500000
500000 of XCG: go-money 5000.00, x/text unknown
500000 of EUR: dinero.js 5000.00, Intl 5000.00
500000 of JPY: dinero.js 500000, Intl 500000
500000 of KWD: dinero.js 500.000, Intl 500.000
500000 of HUF: dinero.js 5000.00, Intl 500000
500000 of IDR: dinero.js 5000.00, Intl 500000
500000 of PKR: dinero.js 5000.00, Intl 500000
500000 of COP: dinero.js 5000.00, Intl 500000
500000 of IQD: dinero.js 500.000, Intl 500000
500000 of RSD: dinero.js 5000.00, Intl 5000.00
500000 of MUR: dinero.js 5000.00, Intl 5000.00
500000 of XCG: dinero.js 5000.00, Intl 5000.00
SEEN
echo "as seen"
