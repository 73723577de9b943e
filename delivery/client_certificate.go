package delivery

import (
	"strconv"
	"time"
)

// CertificateWarning is how long before its end a client certificate needs attention.
const CertificateWarning = 21 * 24 * time.Hour

// CertificateState says when a client certificate expires or has expired: "expires in 5 days, on 2026-12-04".
func CertificateState(end, now time.Time) string {
	day := end.UTC().Format(time.DateOnly)
	left := end.Sub(now)
	if left <= 0 {
		return "expired on " + day
	}
	switch days := int(left.Hours() / 24); days {
	case 0:
		return "expires within a day, on " + day
	case 1:
		return "expires in 1 day, on " + day
	default:
		return "expires in " + strconv.Itoa(days) + " days, on " + day
	}
}
