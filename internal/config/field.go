package config

import (
	"cmp"
	"iter"
	"reflect"
)

// field is a variable as declared by its struct field.
type field struct {
	name    string
	former  string // the name in the release before, which still works
	example string // a valid value
	secret  bool
}

// fileSuffix marks a variable that names a file with a secret.
const fileSuffix = "_FILE"

func newField(f reflect.StructField) field {
	return field{
		name:    f.Tag.Get("env"),
		former:  f.Tag.Get("former"),
		example: cmp.Or(f.Tag.Get("example"), f.Tag.Get("envDefault")),
		secret:  f.Type == reflect.TypeFor[Secret](),
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
