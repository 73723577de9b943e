package definition

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// readTree parses YAML into plain maps, lists and scalars. A repeated key is an error.
func readTree(data []byte) (map[string]any, error) {
	tokens := lexer.Tokenize(string(data)) // once: it is half of the work of reading a file
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %s", yaml.FormatError(err, false, false))
	}
	documents := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	if len(documents) > 1 {
		return nil, errors.New("holds more than one definition")
	}
	var tree map[string]any
	for _, document := range documents {
		ast.Walk(mergesFirst{}, document.Body)
		if err := checkAliases(document.Body); err != nil { // in the order in which they are expanded
			return nil, err
		}
		if err := yaml.NodeToValue(document.Body, &tree); err != nil {
			return nil, fmt.Errorf("not YAML: %s", yaml.FormatError(err, false, false))
		}
	}
	return tree, nil
}

// mergesFirst moves merge keys (<<) to the start of their map, the most important one last. The library lets later fields
// replace earlier ones, so that it would otherwise prefer a merged field to the map's own above it, and the last of several bases
// to the first.
type mergesFirst struct{}

func (v mergesFirst) Visit(n ast.Node) ast.Visitor {
	if m, ok := n.(*ast.MappingNode); ok {
		slices.SortStableFunc(m.Values, func(a, b *ast.MappingValueNode) int {
			return cmp.Compare(rankOf(a), rankOf(b))
		})
	}
	if value, ok := n.(*ast.MappingValueNode); ok && value.Key.IsMergeKey() {
		if bases, ok := value.Value.(*ast.SequenceNode); ok {
			slices.Reverse(bases.Values)
		}
	}
	return v
}

func rankOf(v *ast.MappingValueNode) int {
	if v.Key.IsMergeKey() {
		return 0
	}
	return 1
}

// merge merges over into base: maps are merged field by field, everything else is replaced. A null removes a field.
func merge(base, over map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, base)
	for k, v := range over {
		below, ok1 := out[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case ok1 && ok2:
			out[k] = merge(below, above)
		default:
			out[k] = v
		}
	}
	return out
}

// inherit merges a definition with the one that it extends. A definition that changes how the key is made, without stating its
// certainty, gets a key as before certainty existed.
func inherit(base, over map[string]any) map[string]any {
	below, _ := base["key"].(map[string]any)
	above, _ := over["key"].(map[string]any)
	changes := slices.ContainsFunc([]string{"parts", "fallback", "fallback_window"}, func(field string) bool {
		_, ok := above[field]
		return ok
	})
	if _, says := above["certainty"]; below == nil || !changes || says {
		return merge(base, over)
	}
	key := maps.Clone(below)
	if before, ok := key["before"].(map[string]any); ok {
		key = maps.Clone(before)
	}
	for _, field := range []string{"certainty", "in_doubt", "retry_span", "flood", "before"} {
		delete(key, field)
	}
	return merge(merge(base, map[string]any{"key": nil}), merge(map[string]any{"key": key}, over))
}

// fill decodes a tree into a definition, strictly, and reports every field that is unknown or of the wrong kind. The library's
// decoder would stop at the first one.
func (p *Problems) fill(field string, tree any, to reflect.Value) {
	switch v := to.Addr().Interface().(type) {
	case *Duration:
		p.fillDuration(field, tree, v)
		return
	case *Replay:
		if s, ok := tree.(string); ok {
			v.Automatic = s
			return
		}
	case *Rate:
		if tree == "none" {
			v.Requests = Unlimited
			return
		}
	case *Part:
		if s, ok := tree.(string); ok {
			v.Expr = JQ(s)
			return
		}
	case *Next:
		if s, ok := tree.(string); ok {
			v.Cursor = JQ(s)
			return
		}
	case *IDs:
		if s, ok := tree.(string); ok {
			*v = IDs{JQ(s)}
			return
		}
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		p.fill(field, tree, to.Elem())
	case reflect.Struct:
		p.fillStruct(field, tree, to)
	case reflect.Slice:
		p.fillSlice(field, tree, to)
	case reflect.Map:
		p.fillMap(field, tree, to)
	default:
		p.fillScalar(field, tree, to)
	}
}

func (p *Problems) fillStruct(field string, tree any, to reflect.Value) {
	m, ok := tree.(map[string]any)
	if !ok {
		p.Add(field, "want a map of fields")
		return
	}
	known := map[string]reflect.Value{}
	fieldsByName(to, known)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, ok := known[name]
		switch {
		case !ok:
			p.Add(field+"."+name, "is not a field%s", didYouMean(name, slices.Sorted(maps.Keys(known))))
		case m[name] != nil:
			p.fill(field+"."+name, m[name], v)
		}
	}
}

func fieldsByName(s reflect.Value, known map[string]reflect.Value) {
	for i := range s.NumField() {
		tag := s.Type().Field(i).Tag.Get("yaml")
		if tag == ",inline" {
			fieldsByName(s.Field(i), known)
			continue
		}
		known[tag] = s.Field(i)
	}
}

func (p *Problems) fillSlice(field string, tree any, to reflect.Value) {
	list, ok := tree.([]any)
	if !ok {
		p.Add(field, "want a list")
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	for i, v := range list {
		p.fill(fmt.Sprintf("%s[%d]", field, i), v, to.Index(i))
	}
}

func (p *Problems) fillMap(field string, tree any, to reflect.Value) {
	m, ok := tree.(map[string]any)
	if !ok {
		p.Add(field, "want a map")
		return
	}
	to.Set(reflect.MakeMap(to.Type()))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := reflect.New(to.Type().Elem()).Elem()
		p.fill(field+"."+name, m[name], v)
		to.SetMapIndex(reflect.ValueOf(name), v)
	}
}

func (p *Problems) fillScalar(field string, tree any, to reflect.Value) {
	v := reflect.ValueOf(tree)
	switch {
	case !v.IsValid():
		p.Add(field, "is empty")
	case to.Kind() == reflect.String && v.Kind() == reflect.String,
		to.Kind() == reflect.Bool && v.Kind() == reflect.Bool:
		to.Set(v.Convert(to.Type()))
	case to.Kind() == reflect.Int && (v.CanInt() || v.CanUint()),
		to.Kind() == reflect.Float64 && (v.CanInt() || v.CanUint() || v.CanFloat()):
		to.Set(v.Convert(to.Type()))
	default:
		p.Add(field, "want %s", map[reflect.Kind]string{
			reflect.String: "text", reflect.Bool: "true or false", reflect.Int: "a whole number",
			reflect.Float64: "a number"}[to.Kind()])
	}
}

func (p *Problems) fillDuration(field string, tree any, to *Duration) {
	s, ok := tree.(string)
	if !ok {
		p.Add(field, "want a duration such as 30s, 2h or 7d")
		return
	}
	d, err := ParseDuration(s)
	if err != nil || d < 0 {
		p.Add(field, "%q is not a duration: want 30s, 2h, 7d or forever", s)
		return
	}
	*to = Duration(d)
}

// ParseDuration parses Go's form, a number of days ("7d") and "forever", which is 0.
func ParseDuration(s string) (time.Duration, error) {
	if s == "forever" {
		return 0, nil
	}
	var days int
	var rest string
	if n, _ := fmt.Sscanf(s, "%dd%s", &days, &rest); n == 1 && strings.HasSuffix(s, "d") && days >= 0 && days <= 36500 {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}
