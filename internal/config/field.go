package config

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"
)

// field is a variable as declared by its struct field.
type field struct {
	name    string
	former  string // the name in the release before, which still works
	example string // a valid value
	secret  bool
	// A number or duration is at least min, and more than above; "" if there is no such bound.
	min, above string
}

// fileSuffix marks a variable that names a file with a secret.
const fileSuffix = "_FILE"

func newField(f reflect.StructField) field {
	return field{
		name:    f.Tag.Get("env"),
		former:  f.Tag.Get("former"),
		example: cmp.Or(f.Tag.Get("example"), f.Tag.Get("envDefault")),
		secret:  f.Type == reflect.TypeFor[Secret](),
		min:     f.Tag.Get("min"),
		above:   f.Tag.Get("above"),
	}
}

// declaredFields returns all variables in the order of their declaration.
func declaredFields() []field {
	var all []field
	for section := range sections(reflect.ValueOf(&Config{}).Elem()) {
		for f := range section.Type().Fields() {
			all = append(all, newField(f))
		}
	}
	return all
}

// sections yields the exported fields of a Config.
func sections(config reflect.Value) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		for i := range config.NumField() {
			if config.Type().Field(i).IsExported() && !yield(config.Field(i)) {
				return
			}
		}
	}
}

// checkBounds reports values that are out of the bounds of their fields.
func (m *problems) checkBounds(c Config) {
	for section := range sections(reflect.ValueOf(c)) {
		for declared, value := range section.Fields() {
			switch f := newField(declared); {
			case f.min != "" && value.Int() < parseBound(f.min, declared.Type):
				m.add(f.name, fmt.Sprintf("is %v; it must be at least %s", value, f.min), f.example)
			case f.above != "" && value.Int() <= parseBound(f.above, declared.Type):
				m.add(f.name, fmt.Sprintf("is %v; it must be more than %s", value, f.above), f.example)
			}
		}
	}
}

// parseBound panics for a bound that doesn't parse: each start parses all of them.
func parseBound(text string, t reflect.Type) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if t == reflect.TypeFor[time.Duration]() {
		var d time.Duration
		d, err = time.ParseDuration(text)
		n = int64(d)
	}
	if err != nil {
		panic(err)
	}
	return n
}
