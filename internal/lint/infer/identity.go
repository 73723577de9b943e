package infer

import (
	"fmt"
	"slices"
	"strings"
)

// eventIDs are names that say that they identify the event; ids say so only next to its type.
var (
	eventIDs = []string{"eventid", "eventuuid", "notificationid", "webhookeventid", "eventguid", "triggeruuid", "triggerid"}
	ids      = []string{"id", "uuid", "guid", "_id", "externalid", "messageid", "uid"}
)

// idOf returns the field with the ID of the event; nil if none is. An ID far from the type, or one that another object of the
// event has, too, is that of a thing, which has many events.
func idOf(fields []field, kind *field) *field {
	var best *field
	bestRank := 100
	for i := range fields {
		f := &fields[i]
		if rank := idRank(f, kind, fields); rank < bestRank {
			best, bestRank = f, rank
		}
	}
	return best
}

// idRank is lower for what is more likely the event's ID, and 100 if it isn't.
func idRank(f, kind *field, fields []field) int {
	name := f.words()
	if f.name() == "_id" {
		name = "_id"
	}
	value := idText(f.value)
	if len(value) < 2 || isOfThing(f, value, fields) {
		return 100
	}
	if slices.Contains(eventIDs, name) && len(f.names) <= 3 {
		return 10 + len(f.names)
	}
	at := slices.Index(ids, name)
	if at < 0 || kind == nil {
		return 100
	}
	switch {
	case samePlace(f.parent(), kind.parent()):
		return 20 + at
	case isEnvelope(kind.parent()) && samePlace(f.parent(), kind.parent()[:len(kind.parent())-1]):
		return 30 + at // as in JSON:API, where the ID is next to the attributes
	}
	return 100
}

func isEnvelope(names []string) bool {
	return len(names) > 0 && slices.Contains([]string{"attributes", "properties"}, plain(names[len(names)-1]))
}

// isOfThing reports whether an object within the event has the same ID.
func isOfThing(f *field, value string, fields []field) bool {
	if plain(f.name()) == "externalid" {
		return false // it names the event in another system
	}
	return slices.ContainsFunc(fields, func(other field) bool {
		return len(other.names) > len(f.names) && strings.HasSuffix(other.words(), "id") && idText(other.value) == value
	})
}

func idText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.0f", v)
	}
	return ""
}
