package loadgen

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"holdfast/internal/ledger"
)

// plan decides what each request of a run sends, from the seed and the request's number alone, so that any request can be made
// again.
type plan struct {
	options Options
	kinds   []*kindOfEvent
	total   float64 // sum of the weights
	// back is the number of seconds, including the present, in which the times of events lie.
	back int
}

type kindOfEvent struct {
	upTo   float64  // the sum of the weights so far
	shapes []*shape // by how many seconds back the event's time lies
}

func newPlan(o Options) (*plan, error) {
	p := &plan{options: o, back: int(o.Spread/time.Second) + 1}
	batches := false
	for _, share := range o.Mix {
		k, err := p.newKind(share)
		if err != nil {
			return nil, err
		}
		batches = batches || k.shapes[0].isBatch
		p.kinds = append(p.kinds, k)
	}
	if p.total == 0 {
		return nil, errors.New("nothing in the mix has a weight")
	}
	if o.Batch > 0 && !batches {
		return nil, errors.New("no provider of the mix has batches")
	}
	return p, nil
}

func (p *plan) newKind(share Share) (*kindOfEvent, error) {
	setDefault(&share.Weight, 1)
	if types := share.Provider.SampleTypes(); share.Type == "" && len(types) > 0 {
		share.Type = types[0]
	}
	p.total += share.Weight
	k := &kindOfEvent{upTo: p.total}
	for i := range p.back {
		s, err := newShape(share.Provider, share.Type, p.options.At.Add(-time.Duration(i)*time.Second), p.options.BodySize)
		if err != nil {
			return nil, err
		}
		if p.options.Batch > 0 && s.isBatch && !s.exact {
			return nil, fmt.Errorf("the sample %s of %s can't be sent as a batch", share.Type, share.Provider.Name())
		}
		k.shapes = append(k.shapes, s)
	}
	return k, nil
}

// The decisions. Each has its own random numbers.
const (
	forKind = iota + 1
	forRepeat
	forType
	forEntity
	forTime
)

// number returns the random number for a decision on request i (splitmix64).
func (p *plan) number(i int64, decision uint64) uint64 {
	z := p.options.Seed + uint64(i)*0x9e3779b97f4a7c15 + decision*0xd1342543de82ef95
	for range 2 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

// share returns a random number from 0 to 1.
func (p *plan) share(i int64, decision uint64) float64 {
	return float64(p.number(i, decision)>>11) / (1 << 53)
}

// drawn returns the drawn kind of request i. The first requests have nothing to repeat.
func (p *plan) drawn(i int64) ledger.Kind {
	switch u := p.share(i, forKind); {
	case u < p.options.BadSignatures:
		return ledger.KindBadSignature
	case u < p.options.BadSignatures+p.options.Duplicates:
		return ledger.KindDuplicate
	default:
		return ledger.KindEvent
	}
}

// maxSteps bounds the search for an event to repeat.
const maxSteps = 1000

// decide returns the kind of request i, and the number of the request whose events it sends: its own, or an earlier one's.
func (p *plan) decide(i int64) (kind ledger.Kind, of int64) {
	kind = p.drawn(i)
	if kind != ledger.KindDuplicate {
		return kind, i
	}
	for step := range uint64(maxSteps) {
		if i == 0 {
			break
		}
		j := int64(p.number(i, forRepeat+step<<8) % uint64(i))
		if p.drawn(j) == ledger.KindEvent {
			return kind, j
		}
	}
	return ledger.KindEvent, i
}

// make returns request i with its events.
func (p *plan) make(i int64) (*unsent, *shape, error) {
	s := p.shapeOf(i)
	entity := "sample" + strconv.FormatUint(p.number(i, forEntity)%uint64(p.options.Entities), 10)
	u, err := s.make(p.ids(i, s), entity)
	return u, s, err
}

func (p *plan) shapeOf(i int64) *shape {
	u := p.share(i, forType) * p.total
	k := p.kinds[min(sort.Search(len(p.kinds), func(n int) bool { return u < p.kinds[n].upTo }), len(p.kinds)-1)]
	return k.shapes[p.number(i, forTime)%uint64(p.back)]
}

// ids returns the IDs of the events of request i: one, or as many as its batch has.
func (p *plan) ids(i int64, s *shape) []string {
	if p.options.Batch == 0 || !s.isBatch {
		return []string{p.id(i)}
	}
	ids := make([]string, p.options.Batch)
	for k := range ids {
		ids[k] = p.id(i) + "x" + strconv.Itoa(k)
	}
	return ids
}

// id is the run's ID and at least nine digits.
func (p *plan) id(i int64) string {
	const digits = 9
	b := make([]byte, 0, maxRun+digits+2)
	b = append(b, p.options.Run...)
	n := strconv.FormatInt(i, 10)
	for range digits - len(n) {
		b = append(b, '0')
	}
	return string(append(b, n...))
}
