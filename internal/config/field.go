package config

import (
	"cmp"
	"iter"
	"reflect"
)

// field is one variable as its struct field declares it.
type field struct {
	section, goName string
	name            string
	fallback        string
	example         string
	secret          bool
}

// fileSuffix makes the name of a variable that names a file with a secret in it.
const fileSuffix = "_FILE"

func newField(section string, f reflect.StructField) field {
	fallback := f.Tag.Get("envDefault")
	return field{
		section:  section,
		goName:   f.Name,
		name:     f.Tag.Get("env"),
		fallback: fallback,
		example:  cmp.Or(f.Tag.Get("example"), fallback),
		secret:   f.Type == reflect.TypeFor[Secret](),
	}
}

// declaredFields are all variables in the order of their declaration.
func declaredFields() []field {
	var all []field
	for section := range sections(reflect.ValueOf(&Config{}).Elem()) {
		for f := range section.Type().Fields() {
			all = append(all, newField(section.Type().Name(), f))
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
