package config

import "maps"

// Renamed is a variable that is set by its name in the release before. It works, and the changelog says until when.
type Renamed struct{ Former, Name string }

// Renamed lists the variables that are set by a former name.
func (c Config) Renamed() []Renamed { return c.renamed }

// rename returns the variables by their current names, and those that have a former one.
func (m *problems) rename(vars environment, fields []field) (environment, []Renamed) {
	var all []Renamed
	vars = maps.Clone(vars)
	for _, f := range fields {
		value, isSet := vars[f.former]
		if f.former == "" || !isSet {
			continue
		}
		if _, both := vars[f.name]; both {
			m.add(f.former, "is the former name of "+f.name+", which is set as well: remove one of them", "")
		}
		vars[f.name] = value
		delete(vars, f.former)
		all = append(all, Renamed{f.former, f.name})
	}
	return vars, all
}
