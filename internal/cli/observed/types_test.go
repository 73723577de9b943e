package observed

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/shape"
	"holdfast/operator/api/definitionapi"
)

// observedTypes has two types whose names collide, and fields of every kind.
func observedTypes(t *testing.T) []definitionapi.ObservedType {
	t.Helper()
	const body = `{"id": "a", "order-id": 12345678901234567890, "order_id": 1, "paid": true, "price": 1.5, "note": null, "odd": %s,
		"lines": [{"sku": "x"}], "none": [], "by_mail": {"ada@example.com": 1}, "empty": {}, "type": "t"}`
	s := shape.New("")
	for i := range 20 {
		odd := []string{`"text"`, `1`}[i%2]
		decoder := json.NewDecoder(strings.NewReader(strings.ReplaceAll(body, "%s", odd)))
		decoder.UseNumber()
		var v any
		require.NoError(t, decoder.Decode(&v))
		if i == 0 {
			delete(v.(map[string]any), "paid")
		}
		s.Add("id", time.Now(), v)
	}
	text, err := json.Marshal(s.Schema("order.paid"))
	require.NoError(t, err)
	return []definitionapi.ObservedType{
		{Type: "order.paid", Events: 20, Schema: text},
		{Type: "order_paid", Events: 1, Schema: json.RawMessage(`{"type":"string"}`)},
	}
}

// The Go types compile, and have what was seen.
func TestTheGoTypesCompile(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeGo(&b, "shop-7", observedTypes(t)))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/shop\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.go"), b.Bytes(), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", ".")
	build.Dir = dir
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s\n%s", output, &b)
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, line := range []string{
		"package shop7 ", "type OrderPaid struct", "type OrderPaid2 string", "ID string `json:\"id\"`",
		"OrderID int64 `json:\"order-id\"`",
		"OrderID2 int64 `json:\"order_id\"`", "Paid *bool `json:\"paid,omitempty\"`", "Price float64 `json:\"price\"`",
		"Odd json.RawMessage `json:\"odd\"`", "Lines []struct {", "ByMail map[string]int64", "None []json.RawMessage",
	} {
		require.Contains(t, text, line)
	}
}

// The TypeScript types have what was seen; a field that isn't always there is optional.
func TestTheTypeScriptTypes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeTypeScript(&b, "shop", observedTypes(t)))
	require.Contains(t, b.String(), `
// order.paid, from 20 events.
export type OrderPaid = {
  "by_mail": Record<string, number>;
  "empty": Record<string, unknown>;
  "id": string;
  "lines": Array<{
    "sku": string;
  }>;
  "none": unknown[];
  "note": null;
  "odd": number | string;
  "order-id": number;
  "order_id": number;
  "paid"?: boolean;
  "price": number;
  "type": string;
};

// order_paid, from 1 events.
export type OrderPaid2 = string;
`)
}

// A type whose name is that of a type of the language doesn't hide it from the others.
func TestTheNamesOfTypeScriptAreFree(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{
		"lines":{"type":"array","items":{"type":"string"}},"by_id":{"type":"object"}}}`)
	var b bytes.Buffer
	require.NoError(t, writeTypeScript(&b, "shop", []definitionapi.ObservedType{
		{Type: "array", Events: 1, Schema: schema}, {Type: "record", Events: 1, Schema: schema},
	}))
	require.NotContains(t, b.String(), "export type Array ")
	require.NotContains(t, b.String(), "export type Record ")
}
