package agents

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// planLife is how long a plan can be carried out.
const planLife = 10 * time.Minute

var (
	errPlanOver = errors.New("the plan is older than ten minutes: plan again, and show the person the new plan")
	errNoPlan   = errors.New("this isn't a plan that was shown for these arguments, or the dead letter or the definition has " +
		"changed since: plan again, and show the person the new plan")
)

func newKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}

// sign returns the ID of a plan for what it would do: the tool's arguments and what they depend on. The ID proves to any process
// that the plan was made for the same caller within the last minutes, so none of them keeps it.
func (c call) sign(what any, until time.Time) string {
	key := c.t.local
	if c.authorization != "" {
		key = []byte(c.authorization)
	}
	mac := hmac.New(sha256.New, key)
	end := strconv.FormatInt(until.Unix(), 36)
	_, _ = fmt.Fprintf(mac, "plan %s %#v", end, what)
	return end + "-" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil)[:10]))
}

// newPlan returns the ID of a plan that is shown now, and until when it can be carried out.
func (c call) newPlan(what any) (id string, until time.Time) {
	until = time.Now().Add(planLife).Truncate(time.Second)
	return c.sign(what, until), until
}

// check reports why a plan can't be carried out.
func (c call) check(id string, what any) error {
	end, _, _ := strings.Cut(id, "-")
	seconds, err := strconv.ParseInt(end, 36, 64)
	until := time.Unix(seconds, 0)
	switch {
	case err != nil || !hmac.Equal([]byte(id), []byte(c.sign(what, until))):
		return errNoPlan
	case time.Now().After(until):
		return errPlanOver
	}
	return nil
}
