package console_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/operator/access"
	"holdfast/operator/api/deliveryapi"
)

// longPlans are resends of a period with more events than a quick plan looks at.
type longPlans struct {
	deliveryapi.Resender

	first []int
}

func (p *longPlans) Plan(_ context.Context, _ string, _, _ time.Time, first int) (operation.ResendPlan, error) {
	p.first = append(p.first, first)
	if first > 0 {
		return operation.ResendPlan{Events: int64(first), Matching: int64(first), Missing: 7, AtLeast: true}, nil
	}
	return operation.ResendPlan{Events: 54_321, Matching: 54_321, Sampled: true}, nil
}

// The plan of a resend counts the newest events, says so, and has a link that counts all.
func TestAPlanIsQuickUntilAllIsAskedFor(t *testing.T) {
	t.Parallel()
	shown, behind := newDestinations().shown(), &longPlans{}
	shown.API.Outbound.Resends = behind
	s := startShowing(t, shown, "", true)
	path := "/console/operations/resend?subscription=customers&since=168h"
	status, page := s.look(t, access.RoleOperator, path)
	require.Equal(t, 200, status, page)
	require.Contains(t, page, "This plan counts the newest 1\u202f000; the resend sends from all.")
	require.Contains(t, page, "<dd>1\u202f000+</dd>")
	all := "/console/operations/resend?first=0&amp;since=168h&amp;subscription=customers"
	require.Contains(t, page, `<a href="`+all+`">Count all</a>`)
	status, page = s.look(t, access.RoleOperator, "/console/operations/resend?first=0&since=168h&subscription=customers")
	require.Equal(t, 200, status, page)
	require.NotContains(t, page, "Count all")
	require.Contains(t, page, "estimated from 10 000 events")
	require.Equal(t, []int{1000, 0}, behind.first)
	status, _ = s.look(t, access.RoleOperator, path+"&first=-1")
	require.Equal(t, 400, status)
}
