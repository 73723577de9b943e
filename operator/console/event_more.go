package console

import (
	"fmt"
	"net/url"
	"strconv"

	"holdfast/operator/api"
)

// maxObjects bounds how many things of one event are looked for in the audit log.
const maxObjects = 20

// objectsOf are what the audit log may have of an event: itself, its dead letters, its deliveries.
func objectsOf(d api.EventDetail) []string {
	all := []string{"event:" + d.ID}
	for _, letter := range d.DeadLetters {
		all = append(all, "dead_letter:"+strconv.FormatInt(letter.ID, 10))
	}
	for _, one := range d.Deliveries {
		all = append(all, fmt.Sprintf("delivery:%s/%d", one.EventID, one.SubscriptionID))
	}
	return all[:min(len(all), maxObjects)]
}

// commandsOf are what one would type instead.
func commandsOf(p eventPage, base string) []string {
	commands := []string{
		"holdfast event show " + p.ID,
		`curl -H "Authorization: Bearer $TOKEN" ` + base + "/events/" + p.ID,
	}
	if p.Waits != nil {
		number := strconv.FormatInt(p.Waits.ID, 10)
		commands = append(commands, "holdfast dlq replay "+number, "holdfast dlq edit "+number+" --body FILE",
			`curl -X POST -H "Authorization: Bearer $TOKEN" `+base+"/dead-letters/"+number+"/replay")
	}
	for _, d := range p.Deliveries[:min(len(p.Deliveries), 3)] {
		commands = append(commands, "holdfast delivery send "+p.ID+" "+d.Subscription)
	}
	return commands
}

func pathEscape(text string) string { return url.PathEscape(text) }
