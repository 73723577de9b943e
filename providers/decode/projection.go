package decode

// Projection names the fields of an object that are read, each with what is wanted of it in turn; nil stands for everything. Most of
// a body has no part in the identity of its event, and whoever acknowledges the event need not build it.
type Projection map[string]Projection

// Add wants all that stands at the path.
func (w Projection) Add(path []string) {
	below, known := w[path[0]]
	switch {
	case known && below == nil:
	case len(path) == 1:
		w[path[0]] = nil
	default:
		if !known {
			below = Projection{}
			w[path[0]] = below
		}
		below.Add(path[1:])
	}
}
