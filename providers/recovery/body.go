package recovery

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"holdfast/providers/definition"
)

// body makes the body of a webhook of an item: the text between before and after is that of the item's part.
type body struct {
	before, after string
	part          []string
}

var itemPattern = regexp.MustCompile(`\{item((?:\.[A-Za-z0-9_-]+)*)\}`)

func newBody(p *definition.Problems, text string) body {
	if text == "" {
		return body{}
	}
	found := itemPattern.FindAllStringSubmatchIndex(text, -1)
	if len(found) != 1 {
		p.Add("recover.body", "has {item} or {item.PATH} %d times: it must have it once", len(found))
		return body{}
	}
	at := found[0]
	b := body{before: text[:at[0]], after: text[at[1]:]}
	if path := strings.TrimPrefix(text[at[2]:at[3]], "."); path != "" {
		b.part = strings.Split(path, ".")
	}
	if !json.Valid([]byte(b.before + "{}" + b.after)) {
		p.Add("recover.body", "isn't JSON once {item} is replaced with an object")
	}
	return b
}

// of returns the body with an item, as the provider wrote it. ok is false if the item lacks the part.
func (b body) of(item []byte) (text []byte, ok bool) {
	part, ok := rawAt(item, b.part)
	return []byte(b.before + string(part) + b.after), ok
}

// rawAt returns the text of a value in JSON text; a number in the path is a position in a list. ok is false if there is none.
func rawAt(text []byte, path []string) (part []byte, ok bool) {
	for _, name := range path {
		var fields map[string]json.RawMessage
		var list []json.RawMessage
		if at, err := strconv.Atoi(name); err == nil && json.Unmarshal(text, &list) == nil {
			if at < 0 || at >= len(list) {
				return nil, false
			}
			text = list[at]
			continue
		}
		if json.Unmarshal(text, &fields) != nil {
			return nil, false
		}
		if text, ok = fields[name]; !ok {
			return nil, false
		}
	}
	return text, true
}
