package delivery

// Trial is what became of an event that was sent to try a subscription. It is no delivery: nothing of it is kept, and it counts
// neither for the policy nor for the breaker.
type Trial struct {
	// EventID is the ID that the receiver knows it by. It is new each time, so that the receiver does not drop it.
	EventID string `json:"event_id"`
	// Provider and Type are of the event that was sent, Of says which that was: a stored event, or a sample of its definition.
	Provider string `json:"provider"`
	Type     string `json:"type"`
	Of       string `json:"of"`
	// Matches says whether the subscription would have sent it by itself.
	Matches bool   `json:"matches"`
	OK      bool   `json:"ok"`
	Code    string `json:"code"`
	Error   string `json:"error,omitempty"`
	MS      int    `json:"ms"`
	// Answer is what came back, at most MaxAnswer bytes.
	Answer []byte `json:"answer,omitempty"`
	// Findings are samples that the subscription wants and that can't be put into its form.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one thing that a check of a subscription has looked at.
type Finding struct {
	// About names what was looked at: "task_queue", "search_attribute" …
	About string `json:"about"`
	OK    bool   `json:"ok"`
	// Text says what was found, and what to do if it is not well.
	Text string `json:"text"`
	// Command does the same as the delivery, or shows more.
	Command string `json:"command,omitempty"`
}
