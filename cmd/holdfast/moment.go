package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseMoment reads a moment: how long ago it was ("90m", "7d"), or when (RFC 3339, or a date in UTC). Empty is the zero time.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.UTC().AddDate(0, 0, -n), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%q is no moment: want how long ago (90m, 7d) or when (2026-01-02T15:04:05Z)", text)
	}
	return now.UTC().Add(-ago), nil
}

func momentText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
