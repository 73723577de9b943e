package receiving

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Question says how an event whose sender waits for an answer is answered. The event itself is processed like any other.
type Question struct {
	// Handler names the setting with the URL that answers; "" means always the fallback.
	Handler string
	// Deadline bounds the wait for the handler.
	Deadline event.Duration
	// Status is the status of the answer.
	Status int
	form   answerForm // of the answer, and of the fallback's value

	decoders *decode.Decoders
}

type question struct {
	types []definition.Glob
	Question
}

const (
	defaultQuestionDeadline = event.Duration(5 * time.Second)
	maxAnswer               = 256 << 10
)

func (c compiler) newQuestions(defs []definition.Question, decoders *decode.Decoders) []question {
	var questions []question
	for i, d := range defs {
		at := fmt.Sprintf("questions[%d]", i)
		if len(d.Types) == 0 {
			c.Add(at+".types", "is missing")
		}
		c.Required(at+".fallback", string(d.Fallback))
		q := question{types: c.Globs(at+".types", d.Types), Question: Question{
			Handler: d.Handler, Deadline: defaultQuestionDeadline, decoders: decoders,
			Status: c.success(at+".status", d.Status, http.StatusOK),
			form:   c.newForm(at+".content_type", c.Expression(at+".fallback", d.Fallback), d.ContentType),
		}}
		if d.Handler != "" {
			c.SecretName(at+".handler", d.Handler)
		}
		if d.Deadline != nil {
			q.Deadline = event.Duration(*d.Deadline)
		}
		if q.Deadline <= 0 || q.Deadline > event.Duration(time.Minute) {
			c.Add(at+".deadline", "want more than 0 and at most 1m")
		}
		questions = append(questions, q)
	}
	return questions
}

// Question reports whether an event type is a question, and how it is answered.
func (g *Gate) Question(eventType string) (*Question, bool) {
	for i := range g.questions {
		if definition.AnyMatch(g.questions[i].types, eventType) {
			return &g.questions[i].Question, true
		}
	}
	return nil, false
}

// Fallback returns the answer to an event without a handler's answer.
func (q *Question) Fallback(r event.Receipt, body []byte) (Reply, error) {
	value, err := q.decoders.Decode(r.Headers["content-type"], body)
	if err != nil {
		value = nil
	}
	answer, err := q.form.write(jq.NewInput(r.Headers, r.Query, r.Path, value, nil))
	switch {
	case errors.Is(err, errTooLong):
		return Reply{}, q.form.value.Fail("jq_too_large")
	case errors.Is(err, errNoText), errors.Is(err, errNotXML):
		return Reply{}, q.form.value.Reject("bad_answer", "the answer "+err.Error())
	case err != nil:
		return Reply{}, err
	}
	return q.form.reply(q.Status, answer), nil
}

// Answer returns the answer with a handler's body; ok is false if that isn't of the question's content type.
func (q *Question) Answer(body []byte) (reply Reply, ok bool) {
	if q.form.isJSON() && !json.Valid(body) || !q.form.accepts(body) {
		return Reply{}, false
	}
	return q.form.reply(q.Status, body), true
}
