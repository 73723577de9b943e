package receiving

import (
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
)

// The limits of a request's body, in bytes, of definitions that set none: for providers with a secret and for those without.
const (
	BodyLimit     = 4 << 20
	OpenBodyLimit = 256 << 10
)

// BodyLimit returns how many bytes a body may have. A definition's own limit is its body_limit, or else the documented maximum
// of its sender; the others have a default, which ceiling lowers (0: it doesn't). Without a usable secret no request can be
// authentic, and a large body is only memory that strangers could use.
func (g *Gate) BodyLimit(ceiling int) int {
	limit := g.written.BodyLimit
	if limit == 0 {
		limit = lowered(BodyLimit, ceiling)
		if m := g.written.Maximum; m != nil {
			limit = min(max(BodyLimit, m.Bytes), definition.MaxBodyLimit)
		}
	}
	if limit > OpenBodyLimit && g.HasNoSecret() {
		return lowered(OpenBodyLimit, ceiling)
	}
	return limit
}

// OpenLimit returns how many bytes a body may have whose provider is unknown.
func OpenLimit(ceiling int) int { return lowered(OpenBodyLimit, ceiling) }

func lowered(limit, ceiling int) int {
	if ceiling > 0 {
		return min(limit, ceiling)
	}
	return limit
}

// Rate limits the requests to this provider; nil for no limit.
func (g *Gate) Rate() *Rate { return g.rate }

// SourceRate limits the requests of one source; nil for no limit.
func (g *Gate) SourceRate() *Rate { return g.sourceRate }

// ClientRate limits the requests of one client address; nil for no limit.
func (g *Gate) ClientRate() *Rate { return g.clientRate }

// Rate is a number of requests per time span, which may also come all at once.
type Rate struct {
	Requests int
	Per      event.Duration
}

// NewRate returns a rate; nil if it allows no request, which is how none is configured.
func NewRate(requests int, per time.Duration) *Rate {
	if requests == 0 {
		return nil
	}
	return &Rate{Requests: requests, Per: event.Duration(per)}
}

func (c compiler) newRate(field string, d *definition.Rate) *Rate {
	return CompileRate(&c.Problems, field, d)
}

// CompileRate compiles the rate of a field, and reports its problems; nil for no limit.
func CompileRate(p *definition.Problems, field string, d *definition.Rate) *Rate {
	if d == nil || d.Requests == definition.Unlimited {
		return nil
	}
	if d.Requests < 1 {
		p.Add(field+".requests", "want at least 1")
	}
	if per := time.Duration(d.Per); per < time.Second || per > time.Hour {
		p.Add(field+".per", "want 1s to 1h")
	}
	return &Rate{Requests: d.Requests, Per: event.Duration(d.Per)}
}
