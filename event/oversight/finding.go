package oversight

import "time"

// CheckResult is "ok", "warn", "fail", or "skip" if an earlier failure prevented the check.
type CheckResult string

// Finding is the result of one check of an installation.
type Finding struct {
	Check  string      `json:"check"`
	Result CheckResult `json:"result"`
	// Detail describes the finding; Advice says what to do.
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

// SeenFinding is a finding, and since when it has had the same result.
type SeenFinding struct {
	Finding

	Since time.Time
}

// Examination is what a process last found.
type Examination struct {
	// At is its time; zero if none has ended yet.
	At       time.Time
	Findings []SeenFinding
}
