package ingress

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

const (
	// maxConcurrentStarts bounds the starts of one batch that are under way at the same time, and maxConcurrentCommits
	// those of its events that are on their way to either store.
	maxConcurrentStarts  = 16
	maxConcurrentCommits = 256
)

// receive takes a request through: method → route → declared length → provider → the client's rate → body → authentication →
// the provider's rate → challenge → split → key → start → ACK. The declared length is checked by the server before the handler
// runs; the provider's own rate comes after authentication, so that strangers cannot use it up.
func (s *Server) receive(c *fiber.Ctx) error {
	o := observed(c)
	if s.isSelfTest(c) {
		return s.testSelf(c)
	}
	provider, params, refused := s.route(c)
	if refused != "" {
		return s.refuse(c, refused)
	}
	o.provider, o.definition = provider.Name(), provider
	client := s.proxies.client(c)
	if wait := s.limits.takeClient(provider, client, o.receivedAt); wait > 0 {
		return s.refuseLimited(c, wait)
	}
	if isCompressed(c) {
		return s.refuse(c, codeEncoding)
	}
	request := s.readRequest(c, params, client)
	if err := provider.Authenticate(request, s.now()); err != nil {
		return s.refuseUnauthenticated(c, err)
	}
	s.startSpan(c, o)
	if wait := s.limits.takeProvider(provider, o.receivedAt); wait > 0 {
		return s.refuseLimited(c, wait)
	}
	request.Body = bytes.Clone(request.Body)
	if reply, ok := provider.Challenge(request); ok {
		o.outcome = "challenge"
		return sendReply(c, reply)
	}
	return s.accept(c, provider, request)
}

// accept makes the events of an authentic request durable, and answers.
func (s *Server) accept(c *fiber.Ctx, provider *providers.Provider, request *auth.Request) error {
	o := observed(c)
	items, err := provider.Split(request)
	if err != nil {
		return s.refuseUnavailable(c, err)
	}
	receipts := o.receipts(provider, items)
	started, err := s.commitAll(o.ctx, receipts, items)
	if err != nil {
		return s.refuseUnavailable(c, err)
	}
	s.countEvents(o.ctx, provider, receipts, started)
	for _, e := range started {
		s.conflicts.tell(o.ctx, e.Conflict)
	}
	if reply, ok := s.answer(o, provider, items, receipts); ok {
		o.outcome, o.events = "answered", len(started)
		return sendReply(c, reply)
	}
	return s.acknowledge(c, items, started)
}

func sendReply(c *fiber.Ctx, reply providers.Reply) error {
	c.Set(fiber.HeaderContentType, reply.ContentType)
	return c.Status(reply.Status).Send(reply.Body)
}

func (s *Server) route(c *fiber.Ctx) (p *providers.Provider, params map[string]string, refused code) {
	if c.Method() != fiber.MethodPost {
		return nil, nil, codeMethodNotAllowed
	}
	p, params, ok := s.Catalogue.ByPath(c.Path())
	if ok {
		return p, params, ""
	}
	if isWebhookPath(c.Path()) {
		return nil, nil, codeUnknownProvider
	}
	return nil, nil, codeNotFound
}

// isBatch says that the request was an envelope of events, be it an empty one.
func isBatch(items []providers.Item) bool { return len(items) != 1 || items[0].Root != nil }

// receipts give each event of the request its ID.
func (o *observation) receipts(p *providers.Provider, items []providers.Item) []event.Receipt {
	receipts := make([]event.Receipt, len(items))
	for i, item := range items {
		receipts[i] = event.Receipt{
			ID:            uuid.Must(uuid.NewV7()).String(),
			Provider:      p.Name(),
			Source:        item.Source,
			Key:           item.Key,
			KeyFrom:       item.KeyFrom,
			DedupeWindow:  item.DedupeWindow,
			Fingerprint:   item.Fingerprint,
			Type:          item.Type,
			Priority:      item.Priority,
			ReceivedAt:    o.receivedAt.UTC(),
			Headers:       item.Headers,
			Query:         item.Query,
			Path:          item.Path,
			Root:          item.Root,
			RequestID:     o.requestID,
			CorrelationID: o.correlationID,
		}
	}
	return receipts
}

// commitAll commits every event of a request, or fails as a whole: the sender then sends the whole request again, and the events
// that were committed are the duplicates that they are. What of a large batch cannot be started within the ACK budget goes to
// the inbox, by the hundred. A lone event needs no goroutine of its own, which is a tenth of what it costs.
func (s *Server) commitAll(
	ctx context.Context, receipts []event.Receipt, items []providers.Item,
) ([]Started, error) {
	ctx, cancel := withTimeout(ctx, s.Budget)
	defer cancel()
	slowAt := time.Now().Add(s.AckBudget)
	turns := make(chan struct{}, maxConcurrentStarts)
	arrivalOf := func(i int) arrival {
		return arrival{
			receipt: receipts[i], body: items[i].Body, reject: items[i].Redelivery == providers.RejectRedelivery,
			bulk: items[i].Lane == definition.LaneBulk, slowAt: slowAt, turns: turns,
		}
	}
	started := make([]Started, len(receipts))
	if len(receipts) == 1 {
		var err error
		started[0], err = s.commitOnce(ctx, arrivalOf(0))
		return started, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentCommits)
	for i := range receipts {
		group.Go(func() (err error) {
			started[i], err = s.commitOnce(ctx, arrivalOf(i))
			return err
		})
	}
	return started, group.Wait()
}

// commitOnce commits an event. Requests with the same key that are here at the same time share one commit: all but the first
// are duplicates of it, and a storm of them costs a store no more than one.
func (s *Server) commitOnce(ctx context.Context, a arrival) (_ Started, err error) {
	defer func() {
		if value := recover(); value != nil { // nobody above recovers in this goroutine
			err = fmt.Errorf("commit event of workflow %s: panicked with a %T", a.receipt.WorkflowID(), value)
		}
	}()
	first := false
	result, err, _ := s.starts.Do(a.receipt.WorkflowID(), func() (any, error) {
		first = true
		if a.bulk && s.inbox.isThere() {
			return s.commitBulk(ctx, a)
		}
		return s.commitInTurn(ctx, a)
	})
	if err != nil {
		return Started{}, err
	}
	started := result.(Started)
	if first {
		return started, nil
	}
	if started.Conflict = a.receipt.ConflictWith(started.EventID, started.Fingerprint); started.State.isNew() {
		started.State = StateProcessing
	}
	return started, nil
}

// withTimeout is context.WithTimeout with a deadline that nobody can see: of one that it sees, Temporal's client gives a call
// only half.
func withTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
