package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Load reads the environment of this process. The error joins one VariableError for each invalid variable.
func Load() (Config, error) { return LoadFrom(os.Environ()) }

// LoadFrom is Load for an environment in the form of os.Environ. An empty variable counts as unset.
func LoadFrom(environ []string) (Config, error) { return load(newEnvironment(environ)) }

func load(vars environment) (Config, error) {
	fields := declaredFields()

	var wrong problems
	vars, renamed := wrong.rename(vars, fields)
	cfg := Config{environ: func() environment { return vars }, renamed: renamed}
	wrong.checkNames(vars, fields)
	wrong.readSecretFiles(vars, fields)
	wrong.parse(&cfg, vars)
	wrong.readTemporal(&cfg)
	wrong.validate(cfg)
	if err := wrong.join(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// parse fills the sections one by one, because the parser's errors name the field, not the variable.
func (m *problems) parse(cfg *Config, vars environment) {
	for section := range sections(reflect.ValueOf(cfg).Elem()) {
		err := env.ParseWithOptions(section.Addr().Interface(), env.Options{Environment: vars})
		var all env.AggregateError
		if !errors.As(err, &all) {
			continue
		}
		for _, one := range all.Errors {
			m.addParseError(one, section.Type(), vars)
		}
	}
}

func (m *problems) addParseError(err error, section reflect.Type, vars environment) {
	var parse env.ParseError
	declared, found := reflect.StructField{}, false
	if errors.As(err, &parse) {
		declared, found = section.FieldByName(parse.Name)
	}
	if !found {
		*m = append(*m, fmt.Errorf("parse %s: %w", section.Name(), err))
		return
	}
	f := newField(declared)
	value := vars[f.name]
	if f.secret {
		value = secretMask
	}
	m.add(f.name, fmt.Sprintf("is %q, which %s", value, problem(declared.Type, parse.Err)), f.example)
}

// problem describes an invalid value in the reader's terms; the standard library's parsers mention strconv.
func problem(t reflect.Type, err error) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "is not a duration: a number with the unit ms, s, m or h"
	case t == reflect.TypeFor[int]():
		return "is not a whole number"
	case t == reflect.TypeFor[bool]():
		return "is neither true nor false"
	case t.PkgPath() == "log/slog":
		return "is none of debug, info, warn, error"
	default:
		return err.Error()
	}
}

// String lists the effective values as NAME=value, one per line, with secrets masked.
func (c Config) String() string {
	var b strings.Builder
	for section := range sections(reflect.ValueOf(&c).Elem()) {
		for f, value := range section.Fields() {
			fmt.Fprintf(&b, "%s=%v\n", newField(f).name, value)
		}
	}
	return b.String()
}
