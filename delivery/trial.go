package delivery

// Trial is the result of sending a test event to a subscription. It isn't a delivery: it isn't stored, and counts neither for the
// retry policy nor for the breaker.
type Trial struct {
	// EventID is a new ID each time, so that the destination doesn't drop the event.
	EventID string `json:"event_id"`
	// Of names the event that was sent: a stored event, or a sample of its definition.
	Provider string `json:"provider"`
	Type     string `json:"type"`
	Of       string `json:"of"`
	// Matches reports whether the subscription matches the event.
	Matches bool   `json:"matches"`
	OK      bool   `json:"ok"`
	Code    string `json:"code"`
	Error   string `json:"error,omitempty"`
	MS      int    `json:"ms"`
	// Answer is the beginning of the response, at most MaxAnswer bytes.
	Answer []byte `json:"answer,omitempty"`
	// Findings lists samples that match the subscription and can't be turned into a request.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is the result of one check of a subscription.
type Finding struct {
	// About names the check: "task_queue", "search_attribute" …
	About string `json:"about"`
	OK    bool   `json:"ok"`
	// Text is the result, and how to fix a problem.
	Text string `json:"text"`
	// Command is a command line that does the same as the delivery, or shows more.
	Command string `json:"command,omitempty"`
}
