package importer

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/word"
	"holdfast/providers"
)

// RecordSubscription is a subscription. It is not a record of an import: it goes to the store of subscriptions.
const RecordSubscription operation.ImportRecord = "subscription"

// Records returns all types of records.
func Records() []operation.ImportRecord { return append(operation.ImportRecords(), RecordSubscription) }

// Line is the content of one line of a file.
type Line struct {
	N      int64
	Record operation.ImportRecord
	// Items has more than one entry if the body of an event is an envelope.
	Items        []operation.ImportItem
	Subscription *ImportedSubscription
	// IsExpired means that its key is past its dedupe window.
	IsExpired bool
	// Problems lists everything wrong with the line; the other fields are then empty.
	Problems []Problem
}

// Reader reads files.
type Reader struct {
	Lookup func(name string) (*providers.Provider, bool)
	// Record is the type of lines that have none; "" for no default.
	Record operation.ImportRecord
	// Provider is the provider of lines that have none.
	Provider string
	Format   Format
	// Skipped is the number of lines of the file that the reader doesn't get; in a part of a file, those of the parts before.
	Skipped int64
}

// Each reads a file line by line in constant memory. The error comes from the file, or from each.
func (r *Reader) Each(in io.Reader, each func(Line) error) error {
	now := time.Now()
	return eachRecord(in, r.Format, r.Skipped, func(of *record) error { return each(r.read(of, now)) })
}

func (r *Reader) read(of *record, now time.Time) Line {
	l := Line{N: of.line}
	if len(of.problems) == 0 {
		r.readInto(&l, of, now)
		if of.finish(); len(of.problems) == 0 {
			return l
		}
	}
	return Line{N: of.line, Record: l.Record, Problems: of.problems}
}

func (r *Reader) readInto(l *Line, of *record, now time.Time) {
	name := of.text("record")
	if name == "" {
		name = string(r.Record)
	}
	record, err := word.Choose(name, Records())
	if err != nil || name == "" {
		of.wrong("record", "want one of %s", word.Alternatives(Records()))
		of.used = allUsed(of)
		return
	}
	l.Record = record
	switch record {
	case RecordSubscription:
		l.Subscription = readSubscription(of)
	case operation.ImportEntity:
		l.Items = r.readEntity(of)
	case operation.ImportKey:
		l.Items, l.IsExpired = r.readKey(of, now)
	default:
		if of.take("stored") != nil {
			l.Items = r.readStored(of, record)
		} else {
			l.Items = r.readEvent(of, record)
		}
	}
	if len(l.Items) > 0 { // an event that was not processed is a dead letter
		l.Record = l.Items[0].Record
	}
}

// allUsed marks all fields as used, when the valid ones can't be known.
func allUsed(of *record) map[string]bool {
	all := map[string]bool{}
	for name := range of.values {
		all[name] = true
	}
	return all
}

// provider returns the definition of the line's provider.
func (r *Reader) provider(of *record) (*providers.Provider, bool) {
	name := of.text("provider")
	if name == "" {
		name = r.Provider
	}
	if name == "" {
		of.wrong("provider", "is missing")
		return nil, false
	}
	p, ok := r.Lookup(name)
	if !ok {
		of.wrong("provider", "unknown provider: no definition has this name")
	}
	return p, ok
}

func (r *Reader) readEntity(of *record) []operation.ImportItem {
	p, ok := r.provider(of)
	s := operation.ImportSnapshot{
		EntityRef: event.EntityRef{Kind: of.needed("kind"), ExternalID: of.needed("id")}, State: of.object("state"),
		Deleted: of.flag("deleted", false), Version: of.whole("version"), AsOf: of.past("as_of", false),
	}
	s.Names = readNames(of)
	if ok && s.Kind != "" {
		checkKind(of, p, s.Kind)
	}
	if s.AsOf.IsZero() {
		s.AsOf = time.Unix(0, 0).UTC() // before all events
	}
	if s.State == nil && !s.Deleted && len(of.problems) == 0 {
		of.wrong("state", "is missing")
	}
	if !ok || len(of.problems) > 0 {
		return nil
	}
	s.Provider = p.Name()
	return []operation.ImportItem{{Record: operation.ImportEntity, Line: of.line, Entity: &s}}
}

// checkKind refuses a kind that the definition doesn't have: no event would ever fold into such an entity. If a rule computes
// the kind, any name is accepted.
func checkKind(of *record, p *providers.Provider, kind string) {
	kinds, isOpen := p.Kinds()
	switch {
	case slices.Contains(kinds, kind) || isOpen && isKind.MatchString(kind):
	case isOpen:
		of.wrong("kind", "want a name of letters, digits, _ . and -, with at most 64 characters")
	case len(kinds) == 0:
		of.wrong("kind", "%s is unknown: the definition %s has no entities", shownKind(kind), p.Name())
	default:
		of.wrong("kind", "%s is unknown: the definition %s has %s", shownKind(kind), p.Name(), word.Alternatives(kinds))
	}
}

// isKind matches the name of a kind. It is the only value of a file that a mistake repeats, and only if it matches.
var isKind = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

func shownKind(kind string) string {
	if isKind.MatchString(kind) {
		return strconv.Quote(kind)
	}
	return "this kind"
}

// readNames reads the aliases of an entity, by rank: [["MD1", "MD2"], ["SB1"]].
func readNames(of *record) (names []event.Name) {
	value := of.json("names")
	if value == nil {
		return nil
	}
	var ranks [][]string
	if json.Unmarshal(value, &ranks) != nil {
		of.wrong("names", "want lists of texts, one for each rank below the best")
		return nil
	}
	for i, all := range ranks {
		for _, name := range all {
			names = append(names, event.Name{Rank: i + 1, Name: name})
		}
	}
	return names
}
