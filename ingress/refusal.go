package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"

	"holdfast/event/oversight"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// Examining a request takes some 20 times as long as refusing it, so examinations are rate limited, and limited to small
// bodies.
const (
	examinationsPerSecond = 5
	examinationsAtOnce    = 20
	maxExamined           = 64 << 10
)

// examine finds the precise reason for an invalid signature, within the limits above.
func (s *Server) examine(p *providers.Provider, r *auth.Request, err error) error {
	var denied *denial.Error
	if !errors.As(err, &denied) || denied.Reason != denial.BadSignature || len(r.Body) > maxExamined {
		return err
	}
	if !s.examinations.AllowN(s.now(), 1) {
		return err
	}
	return p.Examine(r, s.now(), denied)
}

// maxDigested bounds the bodies of refused requests that are hashed, in bytes.
const maxDigested = 1 << 20

// refusal returns the record of a refused request.
func (o *observation) refusal(status int, request *fasthttp.Request) oversight.Refusal {
	r := oversight.Refusal{At: o.receivedAt.UTC(), Cause: o.reason, Status: status, Headers: []string{}}
	if o.client.IsValid() {
		r.Address = o.client.String()
	}
	if o.denied != nil {
		r.Scheme, r.Detail, r.SkewMS = o.denied.Scheme, o.denied.Detail(), skewOf(o.denied)
	}
	if request == nil {
		return r
	}
	r.Headers, r.OtherHeaders = knownHeaders(o.definition, &request.Header)
	if request.IsBodyStream() { // it was refused unread
		return r
	}
	body := request.Body()
	if r.BodyBytes = len(body); r.BodyBytes <= maxDigested {
		sum := sha256.Sum256(body)
		r.BodySHA256 = hex.EncodeToString(sum[:])
	}
	return r
}

// denial returns the log fields that say why a request isn't authentic.
func (o *observation) denial() (fields []slog.Attr) {
	if o.denied == nil {
		return nil
	}
	if detail := o.denied.Detail(); detail != "" {
		fields = append(fields, slog.String("detail", detail))
	}
	if skew := skewOf(o.denied); skew != nil {
		fields = append(fields, slog.Int64("skew_ms", *skew))
	}
	return fields
}

func skewOf(denied *denial.Error) *int64 {
	if denied.Skew == nil {
		return nil
	}
	ms := denied.Skew.Milliseconds()
	return &ms
}

// The log rate for a provider's refusals with one reason: strangers must not be able to fill the log.
const (
	refusalLinesPerSecond = 10
	refusalLinesAtOnce    = 100
)

// refusalLines limit the log lines about refused requests. The metric counts all of them.
type refusalLines struct {
	mu   sync.Mutex
	kept map[refusalKind]*refusalLine
}

// refusalKind groups refusals. Both parts are our own words, so there are few.
type refusalKind struct{ provider, reason string }

type refusalLine struct {
	budget     *rate.Limiter
	suppressed int
}

// allow reports whether one more line may be logged, and how many of its kind were dropped since the last one.
func (l *refusalLines) allow(kind refusalKind, now time.Time) (ok bool, suppressed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.kept[kind]
	if line == nil {
		if l.kept == nil {
			l.kept = map[refusalKind]*refusalLine{}
		}
		line = &refusalLine{budget: rate.NewLimiter(refusalLinesPerSecond, refusalLinesAtOnce)}
		l.kept[kind] = line
	}
	if !line.budget.AllowN(now, 1) {
		line.suppressed++
		return false, 0
	}
	suppressed, line.suppressed = line.suppressed, 0
	return true, suppressed
}
