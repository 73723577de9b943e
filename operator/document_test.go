package operator_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"go/ast"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/operator/access"
	"holdfast/operator/httpapi"
)

// document generates openapi.json: paths from the routes, schemas from the types of their bodies, descriptions from the comments
// of these types, and examples from testdata/examples.json.
type document struct {
	t       *testing.T
	source  source
	schemas object
	// types has the types of the schemas.
	types map[string]reflect.Type
	// examples has requests and responses by the name of the route.
	examples map[string]struct{ Request, Response any }
}

func generate(t *testing.T, routes []httpapi.Route) string {
	t.Helper()
	d := document{t: t, source: source{t: t, read: map[string][]*ast.GenDecl{}}, schemas: object{}, types: map[string]reflect.Type{}}
	text, err := os.ReadFile("testdata/examples.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d.examples))
	paths := map[string]object{}
	for _, r := range routes {
		path := parameter.ReplaceAllString(r.Path, "{$1}")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.Method)] = d.operation(r)
		delete(d.examples, r.Name)
	}
	require.Empty(t, d.examples, "examples of no route")
	failure := d.content(httpapi.ErrorResponse{})
	return indented(t, object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Holdfast operator API", "version": "1", "summary": "Find what failed, understand it, fix it, replay it.",
			"description": "Lists have pages: repeat the request with `next` as the cursor until it is absent. Every change writes one row " +
				"to the audit log. Request bodies are one JSON object; unknown fields and parameters are refused. `x-role` is the least role " +
				"that may call an operation.",
		},
		"servers":  []any{object{"url": "http://127.0.0.1:8081"}},
		"security": []any{object{"bearer": []any{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
			"responses": object{"Error": object{
				"description": "The request was refused or failed.", "content": failure,
				"headers": object{"Retry-After": object{
					"description": "Seconds; with 429 and 503.", "schema": object{"type": "integer"},
				}},
			}},
			"schemas": d.schemas,
		},
	}) + "\n"
}

func (d document) operation(r httpapi.Route) object {
	require.NotEmpty(d.t, r.Responses, r.Name)
	role := access.Needs(r.Method, r.Path)
	made := object{
		"operationId": r.Name, "summary": r.About, "x-role": role,
		"responses": object{"default": object{"$ref": "#/components/responses/Error"}},
	}
	if r.Details != "" {
		made["description"] = r.Details
	}
	if role == access.Anyone {
		made["security"] = []any{}
	}
	if len(r.Parameters) > 0 {
		made["parameters"] = d.parameters(r)
	}
	if r.Body != nil {
		made["requestBody"] = d.requestBody(r)
	}
	for _, one := range r.Responses {
		d.addResponse(made["responses"].(object), r.Name, one)
	}
	return made
}

func (d document) parameters(r httpapi.Route) (all []object) {
	inPath := parameter.FindAllString(r.Path, -1)
	for _, p := range r.Parameters {
		made := object{"name": p.Name, "in": "query", "description": p.About, "schema": p.Schema}
		if slices.Contains(inPath, ":"+p.Name) {
			made["in"], made["required"] = "path", true
		}
		all = append(all, made)
	}
	return all
}

func (d document) requestBody(r httpapi.Route) object {
	if text, ok := r.Body.(httpapi.Text); ok {
		content := object{}
		for kind := range strings.SplitSeq(text.MediaType, ", ") {
			content[kind] = object{"schema": object{"type": "string", "description": text.About}}
		}
		return object{"required": true, "content": content}
	}
	schema := d.reflect(r.Body, true)
	schema.Required = r.Required
	for _, name := range r.Required {
		p, ok := schema.Properties.Get(name)
		require.True(d.t, ok, "%s requires %s", r.Name, name)
		if p.Type == "string" && p.Format == "" {
			p.MinLength = new(uint64(1))
		}
	}
	content := object{"schema": d.plain(schema)}
	if example := d.examples[r.Name].Request; example != nil {
		content["example"] = example
	}
	return object{
		"required": !r.BodyIsOptional, "content": object{"application/json": content},
	}
}

// addResponse adds a response, or another media type of one.
func (d document) addResponse(to object, name string, r httpapi.Response) {
	status := strconv.Itoa(r.Status)
	made, ok := to[status].(object)
	if !ok {
		made = object{"description": http.StatusText(r.Status) + "."}
		to[status] = made
	}
	content, ok := made["content"].(object)
	if !ok {
		content = object{}
	}
	if text, ok := r.Body.(httpapi.Text); ok && text.MediaType == "" {
		made["description"] = text.About
	} else if ok {
		content[text.MediaType] = object{"schema": object{"type": "string", "description": text.About}}
	} else if r.Body != nil {
		maps.Copy(content, d.content(r.Body))
		if example := d.examples[name].Response; example != nil {
			content["application/json"].(object)["example"] = example
		}
	}
	if len(content) > 0 {
		made["content"] = content
	}
}

func (d document) content(body any) object {
	return object{"application/json": object{"schema": d.plain(d.reflect(body, false))}}
}

// reflect returns the schema of a value's type, in place or as a reference to the document's schemas.
func (d document) reflect(value any, inPlace bool) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: inPlace, Namer: d.nameOf, Mapper: d.text, LookupComment: d.source.comment,
	}
	schema := reflector.ReflectFromType(reflect.TypeOf(value))
	for name, definition := range schema.Definitions {
		if name == "DeclaredDestination" || name == "DeclaredSubscription" {
			definition.Required = nil // a declaration has defaults for all fields
		}
		d.schemas[name] = d.plain(definition)
	}
	schema.Version, schema.Definitions = "", nil
	return schema
}

// text returns the schema of a type whose values are JSON strings, with all values if it is an enumeration; else nil.
func (d document) text(t reflect.Type) *jsonschema.Schema {
	if !strings.HasPrefix(t.PkgPath(), "holdfast/") {
		return nil
	}
	_, isText := reflect.Zero(t).Interface().(encoding.TextMarshaler)
	_, isEncoded := reflect.Zero(t).Interface().(json.Marshaler)
	schema := &jsonschema.Schema{Type: "string"}
	switch {
	case t == reflect.TypeFor[oversight.AuditAction]():
		schema.Enum = anyOf(oversight.AuditActions())
	case t.Kind() == reflect.String:
		schema.Enum = slices.Clone(d.source.constants(t))
	case !isText && !isEncoded:
		return nil
	}
	return schema
}

// nameOf is schemaName, and fails for a type that would replace the schema of another one.
func (d document) nameOf(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return t.String() // it is described in place
	}
	name := schemaName(t)
	if other, ok := d.types[name]; ok {
		require.Same(d.t, other, t, "two types are named %s", name)
	}
	d.types[name] = t
	return name
}

// schemaName returns the name of a type in the document: without "View", and EventList for a List[EventView].
func schemaName(t reflect.Type) string {
	name, item, isList := strings.Cut(t.Name(), "[")
	switch {
	case t == reflect.TypeFor[feed.Change]():
		return "FeedChange"
	case t == reflect.TypeFor[event.Change]():
		return "MappedChange"
	case t == reflect.TypeFor[lint.Finding]():
		return "DefinitionFinding"
	case t == reflect.TypeFor[delivery.Destination](), strings.HasSuffix(t.PkgPath(), "/declared"):
		return "Declared" + name
	case isList:
		name = strings.TrimSuffix(strings.TrimSuffix(item[strings.LastIndex(item, ".")+1:], "]"), "View") + name
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "View"), "Response")
	return string(unicode.ToUpper(rune(name[0]))) + name[1:]
}

// plain returns a schema as a JSON value in the form of OpenAPI.
func (d document) plain(schema *jsonschema.Schema) any {
	text, err := json.Marshal(schema)
	require.NoError(d.t, err)
	text = bytes.ReplaceAll(text, []byte("#/$defs/"), []byte("#/components/schemas/"))
	var value any
	require.NoError(d.t, json.Unmarshal(text, &value))
	return simplified(value)
}

// simplified writes the schema of any value as {}, and removes what a tag excludes from an enumeration: if a tag repeats some of
// the values that its type has, only those are valid.
func simplified(value any) any {
	if value == true {
		return object{}
	}
	schema, ok := value.(object)
	if !ok {
		return value
	}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = repeatedOrAll(values)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key]; ok {
			schema[key] = simplified(inner)
		}
	}
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		properties[name] = simplified(property)
	}
	return schema
}

func repeatedOrAll(values []any) []any {
	var repeated []any
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			repeated = append(repeated, v)
		}
	}
	if len(repeated) > 0 {
		return repeated
	}
	return values
}
