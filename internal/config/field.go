package config

import (
	"cmp"
	"iter"
	"reflect"
)

// field is one variable as its struct field declares it.
type field struct {
	name    string
	example string // a value that would do
	secret  bool
}

// fileSuffix makes the name of a variable that names a file with a secret in it.
const fileSuffix = "_FILE"

func newField(f reflect.StructField) field {
	return field{
		name:    f.Tag.Get("env"),
		example: cmp.Or(f.Tag.Get("example"), f.Tag.Get("envDefault")),
		secret:  f.Type == reflect.TypeFor[Secret](),
	}
}

// declaredFields are all variables in the order of their declaration.
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
