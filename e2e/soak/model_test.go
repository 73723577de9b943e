package soak

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// phase is the state of a key.
type phase string

const (
	absent    phase = ""          // never accepted
	open      phase = "open"      // accepted: an event on its way, or a dead letter
	processed phase = "processed" // an event with its effects
	discarded phase = "discarded"
	expunged  phase = "expunged"
)

// state is the state of one key. Of an event and its edits only the last one counts: all earlier ones are replaced.
type state struct {
	generation int
	phase      phase
	ids        [generations]string // "" as long as unknown
	// stored: a row or a dead letter has been seen.
	stored bool
	// forgotten: Temporal has lost the runs to an expunge, so that it accepts the key again.
	forgotten bool
	webhookID string // of its delivery
	delivered bool
}

// model is Holdfast's promise about one key.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(from, input, output any) (to []any) {
		for _, s := range from.(state).processing() {
			for _, next := range s.step(input.(call), output.(outcome)) {
				to = append(to, next)
			}
		}
		return to
	},
	DescribeOperation: func(input, output any) string {
		return describeOperation(porcupine.Operation{Input: input, Output: output})
	},
	DescribeState: func(s any) string { return fmt.Sprintf("%+v", s) },
}

// processing returns the state, and the one that it may become at any time without an operation: an open event is processed.
func (s state) processing() []state {
	done := s
	done.phase = processed
	if s.phase != open {
		return []state{s}
	}
	return []state{s, done}
}

// step returns the states that an operation may lead to. None means that it can't have this outcome now.
func (s state) step(c call, o outcome) []state {
	if o.Answer == refused {
		return []state{s}
	}
	next, legal := s.after(c, o)
	switch {
	case o.Answer == unknown && legal:
		return []state{s, next}
	case o.Answer == unknown:
		return []state{s}
	case legal:
		return []state{next}
	default:
		return nil
	}
}

// after returns the state after an operation has had its effect, and whether the operation is legal.
func (s state) after(c call, o outcome) (next state, legal bool) {
	current := c.Generation == s.generation
	switch c.Kind {
	case send:
		return s.afterSend(o)
	case replay:
		return s, current && s.phase == open
	case discard:
		legal = current && s.phase == open
		s.phase = discarded
	case reopen:
		legal = current && s.phase == discarded
		s.phase = open
	case edit:
		if !current || s.phase != open {
			return s, false
		}
		s.generation++
		s.ids[s.generation], s.stored = o.EventID, true
		legal = true
	case forget:
		s.forgotten, legal = true, true
	case expunge:
		s.phase, legal = expunged, current
	case deliver:
		legal = current && (s.phase == processed || s.phase == expunged) && identify(&s.ids, c.Generation, o.EventID) &&
			(s.webhookID == "" || s.webhookID == o.WebhookID)
		s.webhookID, s.delivered = o.WebhookID, s.delivered || o.Confirmed
	case read, finish:
		return s.afterRead(o.Seen, c.Kind == finish)
	}
	return s, legal
}

// The states in a response that the model distinguishes from duplicates' states.
const (
	accepted = "accepted" // by Temporal
	spooled  = "spooled"  // in the inbox; Temporal may have another request's event
)

func (s state) afterSend(o outcome) (next state, legal bool) {
	switch {
	case o.Answer == unknown || o.Status == spooled || o.Status == accepted:
		if s.phase == absent {
			s.phase = open
		}
	case s.phase == absent: // a duplicate of nothing
		return s, false
	case o.Result == string(processed) && (s.generation != 0 || s.phase != processed && s.phase != expunged):
		return s, false
	}
	if o.Answer == unknown || o.Status == spooled || s.forgotten {
		return s, true
	}
	legal = identify(&s.ids, 0, o.EventID)
	return s, legal
}

// identify learns the ID of an event. It returns false if the key already belongs to another one.
func identify(ids *[generations]string, generation int, id string) bool {
	known := &ids[generation]
	if *known == "" {
		*known = id
	}
	return id == "" || *known == id
}

func (s state) afterRead(seen [generations]observation, final bool) (next state, legal bool) {
	for g, o := range seen {
		switch {
		case !identify(&s.ids, g, o.EventID):
			return s, false
		case g < s.generation && !o.isOnly("replaced"),
			g > s.generation && o != observation{}:
			return s, false
		}
	}
	o := seen[s.generation]
	isStored := o.Status != "" || o.Waits
	switch s.phase {
	case absent:
		legal = o == observation{}
	case open:
		legal = o.isOnly("") && (isStored || !s.stored) && (o.Waits || !final)
		s.stored = isStored
	case processed:
		legal = o.Rows == 1 && o.Status == string(processed) && o.Effect && !o.Waits && o.Decision == ""
		if final {
			legal = legal && o.Reported == 1 && s.delivered
		}
	case discarded:
		legal = o.isOnly(string(discarded)) && !o.Waits
	case expunged:
		legal = o.Rows == 0 && o.Decision == string(expunged) && !o.Effect && !o.Waits
	}
	return s, legal
}

// isOnly reports whether a decision, or "" for none, is all that there is: the event has no effects.
func (o observation) isOnly(decision string) bool {
	return o.Decision == decision && o.Status != string(processed) && !o.Effect && o.Reported == 0 && o.Rows <= 1
}

// violation is a history of one key that the model doesn't allow.
type violation struct {
	key         string
	operations  []porcupine.Operation
	unexplained porcupine.Operation
}

func (v violation) String() string {
	return fmt.Sprintf("key %s:\n%sno order of operations explains:\n%s", v.key, describe(v.operations...), describe(v.unexplained))
}

// checkLimit bounds the search for one key.
const checkLimit = 20 * time.Second

// check returns the keys whose histories aren't right. The error names a key that couldn't be decided in time.
func check(operations []porcupine.Operation) (found []violation, err error) {
	m := model.ToModel()
	for _, part := range byKey(operations) {
		key := part[0].Input.(call).Key
		result, info := porcupine.CheckOperationsVerbose(m, part, checkLimit)
		switch result {
		case porcupine.Ok:
		case porcupine.Unknown:
			err = fmt.Errorf("key %s could not be checked in %s:\n%s", key, checkLimit, describe(part...))
		default:
			found = append(found, violation{key, part, unexplained(part, info)})
		}
	}
	return found, err
}

// byKey partitions a history: what happens to one key says nothing about another.
func byKey(operations []porcupine.Operation) (parts [][]porcupine.Operation) {
	index := map[string]int{}
	for _, o := range operations {
		key := o.Input.(call).Key
		i, known := index[key]
		if !known {
			i = len(parts)
			index[key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// unexplained returns the operation that ends first of those that aren't in the longest order found.
func unexplained(all []porcupine.Operation, info porcupine.LinearizationInfo) (first porcupine.Operation) {
	var longest []porcupine.Operation
	for _, order := range slices.Concat(info.PartialLinearizationsOperations()...) {
		if len(order) > len(longest) {
			longest = order
		}
	}
	first.Return = math.MaxInt64
	for _, o := range all {
		isExplained := slices.ContainsFunc(longest, func(done porcupine.Operation) bool { return done.ClientId == o.ClientId })
		if !isExplained && o.Return < first.Return {
			first = o
		}
	}
	return first
}
