package shape

import "slices"

// node is what was seen at one place of the bodies.
type node struct {
	// Kinds counts the values by kind.
	Kinds map[Kind]int64 `json:"kinds"`
	// Missing counts the objects around it that didn't have it, Gone those after the last one that had it.
	Missing int64 `json:"missing,omitempty"`
	Gone    int64 `json:"gone,omitempty"`
	// Fields are those of an object, by name. If IsMap, its names are data, and anyName stands for all of them.
	Fields map[string]*node `json:"fields,omitempty"`
	IsMap  bool             `json:"is_map,omitempty"`
	// Items is what all items of an array have in common.
	Items *node `json:"items,omitempty"`
	// Values are digests of the distinct texts. IsFree is set once there are too many, or one looks like free text.
	Values []string `json:"values,omitempty"`
	IsFree bool     `json:"is_free,omitempty"`
}

func newNode(missing int64) *node { return &node{Kinds: map[Kind]int64{}, Missing: missing} }

// count is how many values were seen.
func (n *node) count() (all int64) {
	for _, k := range n.Kinds {
		all += k
	}
	return all
}

// present is the share of the objects around it that have it.
func (n *node) present() float64 {
	count := n.count()
	if count == 0 {
		return 0
	}
	return float64(count) / float64(count+n.Missing)
}

// known lists the kinds that were seen, in a fixed order. A number includes integers.
func (n *node) known() (all []Kind) {
	for _, k := range kinds {
		if n.Kinds[k] > 0 && (k != Integer || n.Kinds[Number] == 0) {
			all = append(all, k)
		}
	}
	return all
}

// isEnum reports whether the texts repeat so much that a further one is worth a report.
func (n *node) isEnum() bool {
	texts := n.Kinds[String]
	return !n.IsFree && texts >= enough && texts >= minRepeats*int64(len(n.Values))
}

// size counts the node and all below it.
func (n *node) size() int {
	all := 1
	for _, f := range n.Fields {
		all += f.size()
	}
	if n.Items != nil {
		all += n.Items.size()
	}
	return all
}

// halve makes newer events count more than older ones. Nothing that was seen becomes unseen.
func (n *node) halve() {
	for k, count := range n.Kinds {
		n.Kinds[k] = (count + 1) / 2
	}
	n.Missing, n.Gone = (n.Missing+1)/2, (n.Gone+1)/2
	for _, f := range n.Fields {
		f.halve()
	}
	if n.Items != nil {
		n.Items.halve()
	}
}

// addValue adds the digest of a text, and reports whether it is new.
func (n *node) addValue(digest string) bool {
	if slices.Contains(n.Values, digest) {
		return false
	}
	if len(n.Values) == maxValues {
		n.free()
		return false
	}
	n.Values = append(n.Values, digest)
	return true
}

// free forgets the texts.
func (n *node) free() { n.Values, n.IsFree = nil, true }
