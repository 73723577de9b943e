package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Event is what a service publishes.
type Event struct {
	// ID identifies the event forever within its source. Choose it when the event happens, and store it with what happened:
	// Holdfast recognizes an event that is published again by this ID.
	ID string
	// Type is a name such as order.paid.
	Type string
	// Version is that of the declared type, such as 2. If it is empty, the lowest declared version counts.
	Version string
	// Time is when it happened. If it is zero, the time of receipt counts.
	Time time.Time
	// Data is encoded as JSON.
	Data any
}

// encode returns the body of the request, which is the same for every attempt.
func (e Event) encode(source string) ([]byte, error) {
	if e.ID == "" || e.Type == "" || source == "" {
		return nil, errors.New("an event needs an ID, a type and a source")
	}
	body := struct {
		ID      string     `json:"id"`
		Type    string     `json:"type"`
		Source  string     `json:"source"`
		Version string     `json:"version,omitempty"`
		Time    *time.Time `json:"time,omitempty"`
		Data    any        `json:"data,omitempty"`
	}{ID: e.ID, Type: e.Type, Source: source, Version: e.Version, Data: e.Data}
	if !e.Time.IsZero() {
		body.Time = &e.Time
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return encoded, nil
}

// Receipt says that Holdfast has committed an event durably. Its fields are empty if the response ended early.
type Receipt struct {
	// EventID is Holdfast's ID of the event. For a duplicate it is that of the first one, if it is known yet.
	EventID string
	// WorkflowID is the ID of the event's workflow.
	WorkflowID string
	// Status is accepted or spooled, or for a duplicate processing, processed or dead.
	Status string
	// Duplicate means that Holdfast already had the event, for example from an attempt whose response got lost.
	Duplicate bool
	// Conflict means that the ID belongs to an event with other content: this one is kept as a dead letter.
	Conflict bool
	// Warning says how the event violates its declared type, or that the type's version is deprecated.
	Warning string
	// RequestID finds the request in Holdfast's log.
	RequestID string
}

// receiptOf reads the body of a 2xx. One that can't be read doesn't change that the event is committed.
func receiptOf(body []byte) Receipt {
	var read struct {
		Duplicate bool   `json:"duplicate"`
		Conflict  bool   `json:"conflict"`
		RequestID string `json:"request_id"`
		Events    []struct {
			WorkflowID string `json:"workflow_id"`
			EventID    string `json:"event_id"`
			Status     string `json:"status"`
			Warning    string `json:"warning"`
		} `json:"events"`
	}
	if json.Unmarshal(body, &read) != nil || len(read.Events) != 1 {
		return Receipt{}
	}
	event := read.Events[0]
	return Receipt{
		EventID: event.EventID, WorkflowID: event.WorkflowID, Status: event.Status,
		Duplicate: read.Duplicate, Conflict: read.Conflict, Warning: event.Warning, RequestID: read.RequestID,
	}
}
