package frame

import (
	"slices"

	"holdfast/operator"
	"holdfast/operator/access"
)

// section is an entry of the navigation.
type section struct {
	Name, Path string
	Current    bool
}

// sections returns the navigation's entries with a page that the role may see.
func (f *Frame) sections(role access.Role, current string) (shown []section) {
	for _, s := range []section{
		{Name: "Now", Path: "/console"},
		{Name: "Events", Path: "/console/events"},
		{Name: "Dead letters", Path: "/console/dead-letters"},
		{Name: "Entities", Path: "/console/entities"},
		{Name: "Deliveries", Path: "/console/deliveries"},
		{Name: "Destinations", Path: "/console/destinations"},
		{Name: "Providers", Path: "/console/providers"},
		{Name: "Operations", Path: "/console/operations"},
		{Name: "Audit", Path: "/console/audit"},
	} {
		s.Current = s.Name == current
		if f.May(role, "GET", s.Path) {
			shown = append(shown, s)
		}
	}
	return shown
}

// May reports whether a role may use a route of the console, given by its registered path.
func (f *Frame) May(role access.Role, method, path string) bool {
	return role.Includes(access.Needs(method, path)) && slices.ContainsFunc(f.routes, func(r operator.Page) bool {
		return r.Method == method && r.Path == path
	})
}
