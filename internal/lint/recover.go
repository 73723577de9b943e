package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
)

// checkRecover looks for events that recovery would process twice: those that have another key in the provider's list than in the
// webhook, and those whose key is forgotten while they are still in the list.
func (l *linter) checkRecover() {
	if l.provider.Recovery() == nil {
		for _, name := range l.provider.SampleTypes() {
			if l.written.Samples[name].Item != "" {
				l.add(fmt.Sprintf("samples[%q].item", name), RuleIneffective, "is for a definition with `recover`")
			}
		}
		return
	}
	l.checkRecoveredKey("", l.written.Key)
	l.checkRecoverWindow("", l.written.Dedupe)
	for i, o := range l.written.Overrides {
		if o.Ignore {
			continue
		}
		at := fmt.Sprintf("overrides[%d].", i)
		if o.Key != nil {
			l.checkRecoveredKey(at, o.Key)
		}
		if o.Dedupe != nil {
			l.checkRecoverWindow(at, o.Dedupe)
		}
	}
	l.checkRecoveredSamples()
}

// checkRecoveredKey looks for keys with the hash of the body, whose text in the list differs. Only the provider can send such an
// event, and only the delivery ID, with which its key begins, connects it with an item.
func (l *linter) checkRecoveredKey(at string, k *definition.Key) {
	if k == nil {
		return
	}
	guesses := k.Certainty == guessed && k.Delivery != "" && len(k.Parts) == 0
	if l.provider.Recovery().IsByDelivery() {
		if !guesses {
			l.add(at+"key", RuleRecover, "doesn't begin with the delivery ID, as `recover.delivery` says: want a guessed key with "+
				"`delivery` and without parts, or remove `recover.delivery`")
		}
		return
	}
	isHash := func(part definition.Part) bool { return part.Expr == "body_sha256" }
	if k.Certainty == guessed || slices.ContainsFunc(k.Parts, isHash) {
		l.add(at+"key", RuleRecover, "has the hash of the body, which is another one in the provider's list: an event that has "+
			"arrived would be processed again. Use an ID that both have, let the provider send it again (`recover.delivery`), or "+
			"remove `recover`")
	}
}

func (l *linter) checkRecoverWindow(at string, dedupe *definition.Duration) {
	list := l.provider.Recovery()
	needed := list.Reach + list.Overlap
	if dedupe == nil || *dedupe == 0 || event.Duration(*dedupe) >= needed {
		return
	}
	const day = 24 * time.Hour
	days := (time.Duration(needed) + day - 1) / day
	l.add(at+"dedupe", RuleRecover, "is shorter than recover.reach and overlap together: an event whose key is forgotten would be "+
		"processed again. Use at least %dd, or a shorter reach", days)
}

// checkRecoveredSamples compares the key of each sample with the key of its item in the list.
func (l *linter) checkRecoveredSamples() {
	compared := 0
	for _, name := range l.samples() {
		if l.written.Samples[name].Item == "" {
			continue
		}
		compared++
		l.checkRecoveredSample(name)
	}
	if compared == 0 {
		l.add("recover", RuleRecover,
			"no sample has an `item`: add one to the sample of an event, with the event as the provider's list has it")
	}
}

func (l *linter) checkRecoveredSample(name string) {
	field := fmt.Sprintf("samples[%q].item", name)
	text, err := l.provider.SampleItem(name, "lint", lintTime)
	if err != nil {
		l.add(field, RuleSampleFails, "cannot be made: %s", err.Error())
		return
	}
	item, err := l.provider.Recovery().Item(text)
	if err != nil {
		l.add(field, RuleRecover, "can't be read: %s", err.Error())
		return
	}
	if l.provider.Recovery().FollowUp != nil && item.Path == "" {
		l.add(field, RuleRecover, "lacks the part that the path of `recover.detail` or `recover.redeliver` names")
	}
	if l.provider.Recovery().IsByDelivery() {
		l.checkDelivery(field, name, item.Delivery)
		return
	}
	recovered, err := l.provider.SplitStored(item.Request)
	if err != nil || len(recovered) != 1 {
		l.add(field, RuleRecover, "makes %d events of the body from recover.body: it must make one", len(recovered))
		return
	}
	sent, err := l.provider.Sample(name, "lint", lintTime)
	if err != nil {
		return // reported by checkSample
	}
	arrived, err := l.provider.SplitStored(sent)
	if err != nil || len(arrived) == 0 {
		return
	}
	for i := range arrived {
		if arrived[i].Key != recovered[0].Key {
			continue
		}
		if arrived[i].Type != recovered[0].Type {
			l.add(field, RuleRecover, "has the type %s, and the webhook %s: both must have one", recovered[0].Type, arrived[i].Type)
		}
		if recovered[0].KeyFrom != event.KeyFromEvent {
			l.add(field, RuleRecover, "has no ID: its key is the hash of its body, which differs from that of the webhook")
		}
		return
	}
	l.add(field, RuleRecover, "has the key %s, and the webhook %s: an event that has arrived would be processed again. Make `body` "+
		"of `recover` look like the webhook's", recovered[0].Key, arrived[0].Key)
}

// checkDelivery compares the delivery ID of an item with the start of the webhook's key.
func (l *linter) checkDelivery(field, name, delivery string) {
	sent, err := l.provider.Sample(name, "lint", lintTime)
	if err != nil {
		return // reported by checkSample
	}
	arrived, err := l.provider.SplitStored(sent)
	if err == nil && (len(arrived) != 1 || delivery == "" || !strings.HasPrefix(arrived[0].Key, delivery+":")) {
		l.add(field, RuleRecover, "has the delivery ID %q, with which the webhook's key must begin: correct recover.delivery", delivery)
	}
}
