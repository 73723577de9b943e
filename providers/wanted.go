package providers

import "slices"

// wanted names the fields of an object that are read, each with what is wanted of it in turn; nil stands for everything. Most of
// a body has no part in the identity of its event, and whoever acknowledges the event need not build it.
type wanted map[string]wanted

// wantedOf is what the ingress reads of a body: type, source, keys, and whatever must not be there twice. It is everything if one
// of the expressions is more than a path.
func wantedOf(p *Provider) wanted {
	paths := slices.Clone(p.identity)
	for _, x := range append(p.keyExpressions(), p.typeOf, p.sourceOf) {
		switch {
		case x == nil || !x.reads.body:
		case x.names == nil:
			return nil
		default:
			paths = append(paths, x.reads.fields...)
		}
	}
	w := wanted{}
	for _, path := range paths {
		if len(path) == 0 {
			return nil
		}
		w.add(path)
	}
	return w
}

// add wants all that stands at the path.
func (w wanted) add(path []string) {
	below, known := w[path[0]]
	switch {
	case known && below == nil:
	case len(path) == 1:
		w[path[0]] = nil
	default:
		if !known {
			below = wanted{}
			w[path[0]] = below
		}
		below.add(path[1:])
	}
}
