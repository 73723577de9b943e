package infer

import (
	"regexp"
	"slices"
	"strings"
)

// typeNames are the names of fields for types, the clearest first.
var typeNames = [][]string{
	{
		"eventtype", "eventname", "webhookevent", "triggerevent", "notificationtype", "messagetype", "eventkey", "webhookcode",
		"triggertype",
	},
	{"event", "topic", "trigger", "type", "kind", "notification", "recordtype"},
	{"name", "action", "aspecttype", "operation", "subject", "status"},
}

var (
	typeValue = regexp.MustCompile(`^[A-Za-z][\w./:-]{1,80}$`)
	twoWords  = regexp.MustCompile(`[a-z0-9][._:/-][A-Za-z]|[A-Z][._:/-][A-Z]|[a-z][A-Z]`)
	dotted    = regexp.MustCompile(`[A-Za-z_][.:/][A-Za-z]`)
	// thingAndDeed is a type such as order.paid or store/order/created.
	thingAndDeed = regexp.MustCompile(`^[a-z][a-z_]+(?:[./:][a-z_]+){0,2}(?:\.[a-z_]*(?:e|t|d|ion)|[/:][a-z_]*ed)$`)
	hexValue     = regexp.MustCompile(`^[0-9a-fA-F-]{16,}$`)
	generalOne   = []string{
		"event", "events", "webhook", "webhookevent", "notification", "message", "general", "object", "data", "update", "default",
	}
)

// likely is the least score of what is taken for a type.
const likely = 20

// typeScore rates how likely a field is the type of an event, not counting its depth; 0 is not at all.
func (f *field) typeScore() int {
	value := f.text()
	if !typeValue.MatchString(value) || hexValue.MatchString(value) || slices.Contains(generalOne, plain(value)) {
		return 0
	}
	score := 0
	for i, names := range typeNames {
		if slices.Contains(names, f.words()) {
			score = []int{40, 30, 10}[i]
		}
	}
	switch {
	case score == 0 && len(f.names) == 1 && thingAndDeed.MatchString(value):
		return likely // whatever its name is
	case score == 0:
		return 0
	}
	if twoWords.MatchString(value) {
		score += 6
	}
	if dotted.MatchString(value) {
		score += 10
	}
	return score
}

// before are names of objects that hold an earlier state, or a thing that isn't the event.
var before = []string{"previous", "old", "before", "links", "_links", "metadata", "createdby", "user", "actor", "sender"}

// typeOf returns the field with the type; nil if no field is likely.
func typeOf(fields []field) *field {
	var best *field
	bestScore := 0
	for i := range fields {
		f := &fields[i]
		score := f.typeScore() - 6*(len(f.names)-1)
		if slices.ContainsFunc(f.parent(), func(name string) bool { return slices.Contains(before, plain(name)) }) {
			score -= 20
		}
		joined := inTwoParts(f, fields)
		if joined != nil {
			score += 25
		}
		if score > bestScore || score == bestScore && best != nil && strings.Join(f.names, ".") < strings.Join(best.names, ".") {
			best, bestScore = f, score
			if joined != nil {
				best = joined
			}
		}
	}
	if bestScore < likely-6 {
		return nil
	}
	return best
}

// The names of the two parts of a type: what something was done to, and what was done.
var (
	things = []string{
		"objecttype", "entity", "entitytype", "resource", "resourcetype", "object", "model", "webhooktype", "recordtype", "itemtype",
		"objectkind", "type", "kind",
	}
	deeds = []string{"action", "aspecttype", "webhookcode", "operation", "verb", "changetype", "aspect", "event", "eventtype"}
	// deed is the value of a type that doesn't say what something was done to.
	deed = regexp.MustCompile(`(?i)^(?:[a-z]{2,}(?:e|ed|t|d)|[A-Z_]+)$`)
)

// inTwoParts returns the type that a deed makes with the thing next to it; nil if it is none, or whole.
func inTwoParts(f *field, fields []field) *field {
	if !slices.Contains(deeds, f.words()) || !deed.MatchString(f.text()) {
		return nil
	}
	for i := range fields {
		thing := fields[i]
		isThing := slices.Contains(things, thing.words()) && typeValue.MatchString(thing.text()) &&
			!dotted.MatchString(thing.text()) && !slices.Contains(generalOne, plain(thing.text()))
		if isThing && thing.text() != f.text() && samePlace(thing.parent(), f.parent()) {
			thing.then = f
			return &thing
		}
	}
	return nil
}
