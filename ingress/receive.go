package ingress

import (
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// receive processes a request: method → route → declared length → provider → the client's rate → body → authentication → the
// provider's rate → challenge → split → refuse → the source's rate → event type → start → ACK. The server checks the declared
// length before the handler runs. The provider's own rate comes after authentication, so that strangers can't use it up.
func (s *Server) receive(c *fiber.Ctx) error {
	o := observed(c)
	if s.isSelfTest(c) {
		return s.serveSelfTest(c)
	}
	provider, params, refused := s.route(c)
	if provider == nil && s.Dispatcher != nil && s.Dispatcher.Serves(c.Path()) {
		return s.serveDispatcher(c, o)
	}
	if refused != "" {
		return s.refuse(c, refused)
	}
	o.provider, o.definition = provider.Name(), provider
	if wait := s.limits.AllowClient(provider, o.client, o.receivedAt); wait > 0 {
		return s.refuseLimited(c, wait)
	}
	if refused := s.readBody(c); refused != "" {
		return s.refuse(c, refused)
	}
	request := s.readRequest(c, params, o.client)
	s.removeProxyHeaders(provider, request)
	packed, ok := provider.Packed(request.Header["content-encoding"])
	if !ok {
		return s.refuse(c, codeEncoding)
	}
	if packed && provider.SignsPlain() {
		if err := s.unpack(o, request); err != nil {
			return s.refusePacked(c, err)
		}
	}
	if reply, isOne, err := provider.Handshake(request, s.now()); isOne {
		return s.answerHandshake(c, reply, provider, request, err)
	}
	if request.Method != fiber.MethodPost && !provider.MayBeGetEvent(request) {
		return s.refuse(c, codeMethodNotAllowed)
	}
	if err := provider.Authenticate(request, s.now()); err != nil {
		return s.refuseUnauthenticated(c, s.examine(provider, request, err))
	}
	receiving.QueryAsBody(request)
	s.startSpan(o, string(c.Request().Header.Peek("traceparent")))
	if wait := s.limits.AllowProvider(provider, o.receivedAt); wait > 0 {
		return s.refuseLimited(c, wait)
	}
	if packed && !provider.SignsPlain() {
		if err := s.unpack(o, request); err != nil {
			return s.refusePacked(c, err)
		}
	}
	if reply, ok := provider.Challenge(request, s.now()); ok {
		o.outcome = "challenge"
		return sendReply(c, reply)
	}
	if s.Dispatcher != nil {
		if why := s.Dispatcher.Check(provider.Name(), c.Get(fiber.HeaderAuthorization), request.Body); why != "" {
			return s.refuseSaying(c, codeInvalid, why)
		}
	}
	return s.accept(c, provider, request)
}

func (s *Server) serveDispatcher(c *fiber.Ctx, o *observation) error {
	if refused := s.readBody(c); refused != "" {
		return s.refuse(c, refused)
	}
	o.outcome = outcomeDispatcher
	s.Dispatcher.Handle(c.Context())
	return nil
}

// answerHandshake answers a handshake that is sent without authentication.
func (s *Server) answerHandshake(
	c *fiber.Ctx, reply receiving.Reply, p *providers.Provider, request *auth.Request, err error,
) error {
	if err != nil {
		return s.refuseUnauthenticated(c, s.examine(p, request, err))
	}
	observed(c).outcome = "challenge"
	return sendReply(c, reply)
}

// accept makes the events of an authentic request durable, and answers.
func (s *Server) accept(c *fiber.Ctx, provider *providers.Provider, request *auth.Request) error {
	o := observed(c)
	items, err := provider.Split(request)
	o.endTurn()
	if err != nil {
		return s.refuseUnavailable(c, err)
	}
	if why := reading.RefusedFor(items); why != "" {
		return s.refuseSaying(c, codeInvalid, why)
	}
	if wait := s.limits.AllowSources(provider, items, o.receivedAt); wait > 0 {
		s.limits.RefundProvider(provider)
		return s.refuseLimited(c, wait)
	}
	events := o.received(items)
	warnings, refused := s.checkTypes(o, provider, events, isBatch(items))
	if refused != "" {
		return s.refuseSaying(c, codeEventType, refused)
	}
	started, err := s.Intake.Commit(o.ctx, events)
	if err != nil {
		return s.refuseUnavailable(c, err)
	}
	s.countEvents(o.ctx, provider, events, started)
	if reply, ok := s.answer(o, provider, events); ok {
		o.outcome, o.events = "answered", len(started)
		return sendReply(c, reply)
	}
	return s.acknowledge(c, items, started, warnings)
}

// checkTypes checks published events against their declared types. It returns the warning of each event, or why the whole request
// is refused. Events of other providers aren't ours to correct.
func (s *Server) checkTypes(
	o *observation, p *providers.Provider, events []event.Received, isBatch bool,
) (warnings []string, refused string) {
	warnings = make([]string, len(events))
	if s.EventTypes == nil || p.Name() != eventtype.Publisher {
		return warnings, ""
	}
	found, left := make([]eventtype.Result, len(events)), eventtype.MaxSteps
	for i, e := range events {
		if found[i] = s.EventTypes.CheckEvent(e.Type, e.Body, &left); isBatch {
			found[i] = found[i].Below("/" + strconv.Itoa(i))
		}
	}
	s.acceptRedeliveries(o, events, found)
	for i, result := range found {
		s.metrics.typeChecked(o.ctx, result)
		if warnings[i] = result.Text(); result.IsRefused() {
			return nil, warnings[i]
		}
	}
	return warnings, ""
}

// acceptRedeliveries turns the refusals of events that were accepted before their types changed into warnings: a publisher that
// tries again must not be told that they were refused.
func (s *Server) acceptRedeliveries(o *observation, events []event.Received, found []eventtype.Result) {
	var refused []event.Received
	var places []int
	for i, result := range found {
		if result.IsRefused() {
			refused, places = append(refused, events[i]), append(places, i)
		}
	}
	for n, isKnown := range s.Intake.Redeliveries(o.ctx, refused) {
		if isKnown {
			found[places[n]].Check = eventtype.CheckWarn
		}
	}
}

func sendReply(c *fiber.Ctx, reply receiving.Reply) error {
	if len(reply.Body) > 0 {
		c.Set(fiber.HeaderContentType, reply.ContentType)
	} else {
		c.Response().Header.SetNoDefaultContentType(true)
	}
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	for name, value := range reply.Headers {
		c.Set(name, value)
	}
	return c.Status(reply.Status).Send(reply.Body)
}

func (s *Server) route(c *fiber.Ctx) (p *providers.Provider, params map[string]string, refused code) {
	p, params, ok := s.Catalogue.ByPath(c.Path())
	if c.Method() != fiber.MethodPost && (!ok || !p.Answers(c.Method())) {
		return p, nil, codeMethodNotAllowed
	}
	if ok {
		return p, params, ""
	}
	if isWebhookPath(c.Path()) {
		return nil, nil, codeUnknownProvider
	}
	return nil, nil, codeNotFound
}

// isBatch reports whether the request was an envelope of events, possibly empty.
func isBatch(items []reading.Item) bool { return len(items) != 1 || items[0].Root != nil }

// received returns the events of the request, with an ID each, and with what the definition doesn't determine.
func (o *observation) received(items []reading.Item) []event.Received {
	events, trace := make([]event.Received, len(items)), o.traceparent()
	for i := range items {
		e := &events[i]
		*e = items[i].Received
		e.ID = uuid.Must(uuid.NewV7()).String()
		e.ReceivedAt, e.RequestID = o.receivedAt.UTC(), o.requestID
		e.CorrelationID = o.correlationID
		e.Trace = trace
	}
	return events
}
