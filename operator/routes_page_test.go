package operator_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

var update = flag.Bool("update", false, "write openapi.json and docs/api-routes.md")

// openapi.json is generated from the routes, and the routes page from openapi.json: each route with its parameters, a request
// and a response.
func TestTheDocumentAndItsPageAreCurrent(t *testing.T) {
	t.Parallel()
	server, _ := everything(t, nil)
	text := generate(t, server.Routes())
	requireCurrent(t, "openapi.json", text)
	var document object
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	requireCurrent(t, "../docs/api-routes.md", writer{t: t, document: document}.page())
}

// requireCurrent compares a generated file, or writes it with -update.
func requireCurrent(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if want != string(text) { // the file is too long to print
		t.Errorf("%s is outdated: run go test ./operator -run Current -update", path)
	}
}

// object is a JSON object.
type object = map[string]any

// writer generates the page from the document.
type writer struct {
	t        *testing.T
	document object
}

func (w writer) page() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from operator/openapi.json by go test ./operator -run Current -update. Do not edit. -->

# Routes of the operator API

Each route with its parameters, a request and a response. How tokens, lists and errors work: [operator-api.md](operator-api.md).
An example response has the fields that are always there; other fields are listed below it. Errors have
` + "`{\"error\":{\"code\",\"message\",\"request_id\"}}`" + `.
`)
	paths := w.document["paths"].(object)
	group := ""
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if now := strings.Split(path, "/")[1]; now != group && w.hasGroup(paths, now) {
			group = now
			fmt.Fprintf(&b, "\n## /%s\n", group)
		}
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if operation, ok := paths[path].(object)[method].(object); ok {
				w.route(&b, strings.ToUpper(method), path, operation)
			}
		}
	}
	w.roles(&b)
	return b.String()
}

// roles lists every route, including the console's, with the roles that may call it.
func (w writer) roles(b *strings.Builder) {
	b.WriteString("\n## Routes by role\n\nEvery route of the operator API and of the console, and who may call it. " +
		"Routes of *anyone* need no token.\n\n| Route |")
	for _, role := range access.Roles() {
		fmt.Fprintf(b, " %s |", role)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(access.Roles())) + "\n")
	needed := access.Routes()
	byPath := func(a, b string) int {
		methodA, pathA, _ := strings.Cut(a, " ")
		methodB, pathB, _ := strings.Cut(b, " ")
		return cmp.Or(strings.Compare(pathA, pathB), strings.Compare(methodA, methodB))
	}
	for _, route := range slices.SortedFunc(maps.Keys(needed), byPath) {
		fmt.Fprintf(b, "| `%s` |", parameters.ReplaceAllString(route, "{$1}"))
		for _, role := range access.Roles() {
			mark := ""
			switch {
			case needed[route] == access.Anyone:
				mark = "anyone"
			case role.Includes(needed[route]):
				mark = "yes"
			}
			fmt.Fprintf(b, " %s |", mark)
		}
		b.WriteString("\n")
	}
}

var parameters = regexp.MustCompile(`:(\w+)`)

// hasGroup reports whether a first path segment deserves a heading.
func (w writer) hasGroup(paths object, part string) bool {
	n := 0
	for path := range paths {
		if strings.Split(path, "/")[1] == part {
			n++
		}
	}
	return n > 1
}

func (w writer) route(b *strings.Builder, method, path string, operation object) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s. Role: %s.\n", method, path, operation["summary"], operation["x-role"])
	if words, ok := operation["description"].(string); ok {
		fmt.Fprintf(b, "\n%s\n", words)
	}
	w.parameters(b, operation)
	w.fields(b, w.schemaOf(operation["requestBody"]))
	fmt.Fprintf(b, "\n```text\n%s\n```\n", w.call(method, path, operation))
	w.answer(b, operation["responses"].(object))
}

func (w writer) parameters(b *strings.Builder, operation object) {
	list, _ := operation["parameters"].([]any)
	if len(list) == 0 {
		return
	}
	b.WriteString("\n| Parameter | Meaning |\n|---|---|\n")
	for _, one := range list {
		p := one.(object)
		fmt.Fprintf(b, "| `%s` | %s |\n", p["name"], w.meaning(p["description"], p["schema"].(object)))
	}
}

func (w writer) fields(b *strings.Builder, body object) {
	properties, _ := body["properties"].(object)
	if len(properties) == 0 {
		return
	}
	b.WriteString("\n| Field | Meaning |\n|---|---|\n")
	for _, name := range w.inOrder(body) {
		p := w.resolved(properties[name])
		needed := ""
		if slices.Contains(requiredOf(body), name) {
			needed = ", needed"
		}
		words := p["description"]
		if own, ok := properties[name].(object)["description"]; ok { // of this use of a shared schema
			words = own
		}
		fmt.Fprintf(b, "| `%s`%s | %s |\n", name, needed, w.meaning(words, p))
	}
}

// meaning describes a value and its choices.
func (w writer) meaning(words any, schema object) string {
	text, _ := words.(string)
	var rest []string
	if values, ok := schema["enum"].([]any); ok {
		rest = append(rest, "one of `"+strings.Join(texts(values), "`, `")+"`")
	}
	for _, bound := range []struct{ key, words string }{{"minimum", "at least"}, {"maximum", "at most"}, {"default", "by default"}} {
		if v, ok := schema[bound.key]; ok && fmt.Sprint(v) != "" {
			rest = append(rest, bound.words+" `"+inJSON(w.t, v)+"`")
		}
	}
	if kind, ok := schema["type"].(string); ok && kind != "string" && len(rest) == 0 {
		rest = append(rest, kind)
	}
	all := text
	if !strings.HasSuffix(text, " .") { // a period that ends no sentence
		all = strings.TrimSuffix(text, ".")
	}
	if len(rest) > 0 {
		all = strings.TrimPrefix(all+"; "+strings.Join(rest, ", "), "; ")
	}
	return strings.ReplaceAll(cmp.Or(all, "text"), "|", `\|`)
}

func (w writer) call(method, path string, operation object) string {
	list, _ := operation["parameters"].([]any)
	for _, one := range list {
		if p := one.(object); p["in"] == "path" {
			value := fmt.Sprint(w.example(p["name"].(string), p["schema"].(object)))
			path = strings.ReplaceAll(path, "{"+p["name"].(string)+"}", value)
		}
	}
	words := []string{"curl"}
	if method != "GET" {
		words = append(words, "-X "+method)
	}
	if operation["x-role"] != "anyone" {
		words = append(words, `-H "Authorization: Bearer $TOKEN"`)
	}
	words = append(words, "http://127.0.0.1:8081"+path)
	if example, _ := w.exampleOf(operation["requestBody"]).(object); len(example) > 0 {
		words = append(words, `-H 'Content-Type: application/json'`, "-d '"+strings.ReplaceAll(inJSON(w.t, example), "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

func (w writer) answer(b *strings.Builder, responses object) {
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		schema := w.schemaOf(responses[status])
		if schema == nil {
			fmt.Fprintf(b, "\n`%s`: %s\n", status, strings.TrimSuffix(fmt.Sprint(responses[status].(object)["description"]), "."))
			continue
		}
		fmt.Fprintf(b, "\n`%s`\n\n```json\n%s\n```\n", status, indented(w.t, w.exampleOf(responses[status])))
		if others := w.others(schema); len(others) > 0 {
			fmt.Fprintf(b, "\nAlso, where it applies: `%s`.\n", strings.Join(others, "`, `"))
		}
	}
}

// others lists the optional fields of a response or of its list's items.
func (w writer) others(schema object) []string {
	properties, _ := schema["properties"].(object)
	if items, ok := properties["items"].(object); ok {
		schema = w.resolved(items["items"])
		properties, _ = schema["properties"].(object)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(requiredOf(schema)) > 0 && !slices.Contains(requiredOf(schema), name) {
			all = append(all, name)
		}
	}
	return all
}

// schemaOf returns the JSON schema of a body or a response, or nil.
func (w writer) schemaOf(holder any) object { return w.resolved(w.contentOf(holder)["schema"]) }

// exampleOf returns the document's example of a body or a response, or one made from its schema.
func (w writer) exampleOf(holder any) any {
	content := w.contentOf(holder)
	if given, ok := content["example"]; ok || content == nil {
		return given
	}
	return w.example("", content["schema"])
}

func (w writer) contentOf(holder any) object {
	held, _ := w.resolved(holder)["content"].(object)
	content, _ := held["application/json"].(object)
	return content
}

// resolved follows a reference within the document.
func (w writer) resolved(v any) object {
	o, _ := v.(object)
	to, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	var at any = w.document
	for part := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
		at = at.(object)[part]
	}
	return at.(object)
}

// known are readable example values by field name.
var known = object{
	"id": "7", "provider": "stripe", "type": "customer.updated", "key": "evt_123", "workflow_id": "stripe:evt_123", "kind": "customer",
	"external_id": "cus_123", "subscription": "crm", "destination": "crm", "name": "crm", "to": "crm", "by": "ada", "actor": "ada",
	"started_by": "ada", "reason": "INC-42", "url": "https://crm.example.com/hooks", "older_than": "720h", "grace": "48h",
	"event_id": "0193b4a0-0000-7000-8000-000000000001", "message": "malformed_json: the body is not JSON", "code": "malformed_json",
	"body": `{"id":"evt_123"}`, "secret": "whsec_…", "cursor": "MS43NTMyLjQxLjI", "next": "MjAyNi0xMS0yMQ", "role": "operator",
	"action": "dead_letter.replay", "object": "dead_letter:7", "fingerprint": "sha256:9c99…", "owner_fingerprint": "sha256:4f1c…",
}

// example makes an example from a schema: an object's required fields, or all fields if none is required.
func (w writer) example(name string, v any) any {
	schema := w.resolved(v)
	for _, key := range []string{"example", "default"} {
		if given, ok := schema[key]; ok {
			return given
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if given, ok := schema[key].([]any); ok && len(given) > 0 {
			return given[0]
		}
	}
	kind, _ := schema["type"].(string)
	switch format, _ := schema["format"].(string); {
	case format == "uuid":
		return known["event_id"]
	case format == "date-time":
		return "2026-11-21T12:00:00Z"
	case kind == "array":
		return []any{w.example(name, schema["items"])}
	case kind == "integer" || kind == "number":
		return 7
	case kind == "boolean":
		return true
	case kind == "object" || schema["properties"] != nil:
		return w.exampleObject(schema)
	}
	if text, ok := known[name]; ok {
		return text
	}
	return "…"
}

func (w writer) exampleObject(schema object) object {
	made := object{}
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		if len(requiredOf(schema)) == 0 && w.isShort(property) || slices.Contains(requiredOf(schema), name) {
			made[name] = w.example(name, property)
		}
	}
	return made
}

// isShort reports whether a value is neither an object nor a list.
func (w writer) isShort(v any) bool {
	kind := w.resolved(v)["type"]
	return kind == "string" || kind == "integer" || kind == "number" || kind == "boolean"
}

// inOrder returns the fields of a body, required ones first.
func (w writer) inOrder(body object) []string {
	names := requiredOf(body)
	for _, name := range slices.Sorted(maps.Keys(body["properties"].(object))) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func requiredOf(schema object) []string {
	list, _ := schema["required"].([]any)
	return texts(list)
}

func texts(values []any) []string {
	all := make([]string, 0, len(values))
	for _, v := range values {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

func indented(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}
