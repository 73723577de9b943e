package queue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

const (
	// maxChannels bounds the channels of a connection, and so its concurrent attempts.
	maxChannels = 256
	// closeTimeout bounds closing a connection to a broker that doesn't read.
	closeTimeout = 2 * time.Second
	// maxShort is the longest short string of AMQP, in bytes: a longer one closes the connection.
	maxShort = 255
)

// rabbitClient publishes to an exchange. Each attempt uses a channel alone, so that all confirmations and returned
// messages on it are the attempt's.
type rabbitClient struct {
	conn *amqp091.Connection
	to   delivery.RabbitMQ
	// idle has channels in confirm mode; open has a value for each channel there is.
	idle chan *rabbitChannel
	open chan struct{}
	// blocked is why the broker takes no messages at the moment; nil if it does.
	blocked atomic.Pointer[string]
}

type rabbitChannel struct {
	*amqp091.Channel

	returns chan amqp091.Return
	closed  chan *amqp091.Error
}

func connectRabbitMQ(ctx context.Context, c broker.Connection, to delivery.RabbitMQ) (client, error) {
	conn, err := broker.DialRabbitMQ(ctx, c)
	if err != nil {
		return nil, rabbitLoginFailure(ctx, err)
	}
	r := &rabbitClient{conn: conn, to: to, idle: make(chan *rabbitChannel, maxChannels), open: make(chan struct{}, maxChannels)}
	changes := conn.NotifyBlocked(make(chan amqp091.Blocking, 1))
	go func() {
		for change := range changes { // until the connection is closed
			if r.blocked.Store(nil); change.Active {
				r.blocked.Store(&change.Reason)
			}
		}
	}()
	return r, nil
}

// publish returns in time even if the broker reads nothing, when the client blocks.
func (r *rabbitClient) publish(ctx context.Context, m message) (string, error) {
	if err := r.blockedError(); err != nil {
		return "", err
	}
	out, err := publishing(m)
	if err != nil {
		return "", err
	}
	done := make(chan error, 1)
	go func() { done <- r.confirmed(ctx, m.key, out) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = unconfirmed(ctx)
	}
	if is := r.blockedError(); err != nil && is != nil && !errors.Is(err, context.Canceled) {
		return "", is
	}
	return codeStored, err
}

func (r *rabbitClient) blockedError() error {
	reason := r.blocked.Load()
	if reason == nil {
		return nil
	}
	return busy(codeBlocked, "the broker takes no messages at the moment: alarm "+strings.ToValidUTF8(*reason, ""))
}

// confirmed publishes a message and waits for its confirmation. A returned message comes before it.
func (r *rabbitClient) confirmed(ctx context.Context, key string, out amqp091.Publishing) error {
	ch, err := r.channel(ctx)
	if err != nil {
		return rabbitFailure(ctx, err)
	}
	confirmation, err := ch.PublishWithDeferredConfirmWithContext(ctx, r.to.Exchange, key, true, false, out)
	if err != nil {
		r.drop(ch)
		return rabbitFailure(ctx, err)
	}
	acked, err := confirmation.WaitContext(ctx)
	if err != nil { // a late confirmation must not be taken for the next message's
		r.drop(ch)
		return unconfirmed(ctx)
	}
	if !acked { // a channel that closes stands for all that weren't confirmed
		if err := r.closedError(ctx, ch); err != nil {
			r.drop(ch)
			return err
		}
	}
	var returned bool
	select {
	case _, returned = <-ch.returns:
	default:
	}
	if ch.IsClosed() {
		r.drop(ch)
	} else {
		r.idle <- ch
	}
	switch {
	case returned:
		return missing(codeUnroutable, "the exchange routes the message to no queue: bind one to the routing key")
	case !acked:
		return busy(codeFull, "a queue refuses the message: it is full")
	}
	return nil
}

// closedError returns why a channel is closed; nil if it isn't.
func (r *rabbitClient) closedError(ctx context.Context, ch *rabbitChannel) error {
	select {
	case why, ok := <-ch.closed:
		if !ok || why == nil {
			return lost()
		}
		return rabbitFailure(ctx, why)
	default:
	}
	if ch.IsClosed() || r.conn.IsClosed() {
		return lost()
	}
	return nil
}

// channel returns an idle channel, or opens one.
func (r *rabbitClient) channel(ctx context.Context) (*rabbitChannel, error) {
	select {
	case ch := <-r.idle:
		return ch, nil
	default:
	}
	select {
	case ch := <-r.idle:
		return ch, nil
	case r.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ch, err := r.conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		<-r.open
		return nil, err
	}
	return &rabbitChannel{
		Channel: ch, returns: ch.NotifyReturn(make(chan amqp091.Return, 1)), closed: ch.NotifyClose(make(chan *amqp091.Error, 1)),
	}, nil
}

// drop closes a channel, without waiting for a broker that doesn't answer. It counts as open until then, so that such a broker
// doesn't get more and more channels.
func (r *rabbitClient) drop(ch *rabbitChannel) {
	go func() {
		_ = ch.Close() // it may be closed already
		<-r.open
	}()
}

// publishing returns a message as AMQP has it, persistent. The client closes the whole connection for a string that is too long.
func publishing(m message) (amqp091.Publishing, error) {
	out := amqp091.Publishing{
		DeliveryMode: amqp091.Persistent, MessageId: m.id, ContentType: m.contentType, Type: m.eventType, Timestamp: time.Now(),
		Body: m.body, Headers: amqp091.Table{}, AppId: "holdfast",
	}
	if len(out.Type) > maxShort {
		out.Type = ""
	}
	if len(out.ContentType) > maxShort {
		return out, final(codeName, "the content type is longer than 255 bytes")
	}
	for _, one := range m.attributes { // as CloudEvents' binding for AMQP 1.0 says; there is none for 0-9-1
		out.Headers["cloudEvents_"+one.Name] = one.Value
	}
	for _, one := range m.headers {
		out.Headers[one.name] = one.value
	}
	return out, nil
}

// rabbitLoginFailure is the failure of a connection over which nothing was sent.
func rabbitLoginFailure(ctx context.Context, err error) error {
	if ended(ctx) && !errors.Is(ctx.Err(), context.Canceled) {
		return bad(codeTimeout, "connecting took too long: no answer from the broker")
	}
	err = rabbitFailure(ctx, err)
	if f, ok := errors.AsType[*failed](err); ok && f.code == codeConnection {
		return bad(codeConnection, "the broker closed the connection before the login")
	}
	return err
}

func rabbitFailure(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*failed](err); ok {
		return e
	}
	refused, ok := errors.AsType[*amqp091.Error](err)
	switch {
	case ok && refused != nil && refused.Code != amqp091.ChannelError && !errors.Is(err, amqp091.ErrClosed):
		return rabbitRefusal(refused)
	case ended(ctx):
		return unconfirmed(ctx)
	case errors.Is(err, amqp091.ErrClosed):
		return lost()
	}
	return err
}

// rabbitRefusal turns a reply code into a failure. Its text may have names, which aren't secret, and is shown.
func rabbitRefusal(refused *amqp091.Error) error {
	text := strings.ToValidUTF8(refused.Reason, "")
	switch refused.Code {
	case http.StatusForbidden, amqp091.NotAllowed:
		return blocked(codeCredentials,
			"the broker refuses the credentials, or they don't allow this: check rabbitmq.user and the secret")
	case amqp091.NotFound:
		return blocked(codeNoQueue, "rabbitmq.exchange doesn't exist")
	case amqp091.PreconditionFailed:
		if strings.Contains(text, "size") {
			return final(codeTooLarge, "the message is larger than the broker takes")
		}
	case amqp091.ConnectionForced:
		return lost()
	case amqp091.FrameError, amqp091.SyntaxError, amqp091.UnexpectedFrame:
		return lost()
	}
	return bad(codeRefused, fmt.Sprintf("the broker refuses the message (%d)", refused.Code))
}

func (r *rabbitClient) check(ctx context.Context) ([]delivery.Finding, error) {
	done := make(chan error, 1)
	go func() { done <- r.declarePassively() }()
	select {
	case err := <-done:
		if err != nil {
			return nil, rabbitFailure(ctx, err)
		}
	case <-ctx.Done():
		return nil, unconfirmed(ctx)
	}
	name := "the default exchange"
	if r.to.Exchange != "" {
		name = "exchange " + r.to.Exchange
	}
	found := []delivery.Finding{{
		About: "exchange", OK: true,
		Text: name + " exists; a message that it routes to no queue fails with " + codeUnroutable +
			", unless it has an alternate exchange",
	}}
	if err := r.blockedError(); err != nil {
		found = append(found, delivery.Finding{About: "alarm", Text: err.Error()})
	}
	return found, nil
}

// declarePassively fails if the exchange doesn't exist. It creates nothing.
func (r *rabbitClient) declarePassively() error {
	ch, err := r.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }() // an error has closed it
	if r.to.Exchange == "" {
		return nil
	}
	return ch.ExchangeDeclarePassive(r.to.Exchange, "direct", true, false, false, false, nil)
}

func (r *rabbitClient) isUsable() bool { return !r.conn.IsClosed() }

func (r *rabbitClient) close() {
	_ = r.conn.CloseDeadline(time.Now().Add(closeTimeout)) // nothing is pending
}
